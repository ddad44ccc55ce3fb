package allocator.onnxruntime;

import allocator.spi.DeviceException;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when ONNX Runtime cannot be used or a call fails: its library is absent or of an unknown version, or a
 * function of its C API returned a status.
 */
public final class OnnxRuntimeException extends DeviceException {
    private static final long serialVersionUID = 1L;

    /** The {@link #code} of a failure without a call. */
    public static final int NO_CODE = -1;

    /** ONNX Runtime's error code. */
    private final int code;

    /**
     * Makes the exception.
     *
     * @param message what failed
     * @param code ONNX Runtime's error code, {@link #NO_CODE} if no function of ONNX Runtime returned the failure
     * @param cause why, or {@code null} if there is no exception behind it
     */
    public OnnxRuntimeException(String message, int code, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /**
     * Makes the exception for a failure without a call.
     *
     * @param message what failed
     */
    public OnnxRuntimeException(String message) {
        this(message, NO_CODE, null);
    }

    /** {@return the {@code OrtErrorCode}, {@link #NO_CODE} if no function of ONNX Runtime returned the failure} */
    public int code() {
        return code;
    }

    /** The message, which every exception of this class has. */
    String reason() {
        return String.valueOf(getMessage());
    }
}
