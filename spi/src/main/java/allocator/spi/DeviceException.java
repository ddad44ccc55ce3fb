package allocator.spi;

import org.jspecify.annotations.Nullable;

/** Thrown when a device or its driver fails for a reason other than lack of memory. */
public class DeviceException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message the call that failed and the driver's own name for the failure
     * @param cause the exception of the binding, or {@code null}
     */
    public DeviceException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
