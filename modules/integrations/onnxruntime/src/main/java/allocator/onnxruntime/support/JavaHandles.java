package allocator.onnxruntime.support;

import ai.onnxruntime.OrtSession;
import allocator.onnxruntime.OnnxRuntimeException;
import java.lang.reflect.Field;

/** The native handles of objects of ONNX Runtime's Java binding, which keeps them in private fields. */
public final class JavaHandles {
    private static final String FIELD = "nativeHandle";

    private JavaHandles() {}

    /**
     * Returns the {@code OrtSession}.
     *
     * @throws OnnxRuntimeException if the binding of this version has no such field
     */
    public static long of(OrtSession session) {
        return read(OrtSession.class, session);
    }

    /**
     * Returns the {@code OrtRunOptions}.
     *
     * @throws OnnxRuntimeException as {@link #of(OrtSession)}
     */
    public static long of(OrtSession.RunOptions options) {
        return read(OrtSession.RunOptions.class, options);
    }

    private static long read(Class<?> type, Object object) {
        try {
            final Field field = type.getDeclaredField(FIELD);
            field.setAccessible(true);
            return field.getLong(object);
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new OnnxRuntimeException(
                    "the field " + FIELD + " of " + type.getName() + " cannot be read: " + e
                            + "; bindings need ONNX Runtime's Java binding 1.23 to 1.29, with the package"
                            + " ai.onnxruntime open to java.allocator.onnxruntime",
                    OnnxRuntimeException.NO_CODE,
                    e);
        }
    }
}
