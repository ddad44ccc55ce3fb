package allocator.spi;

import org.jspecify.annotations.Nullable;

/**
 * What this contract names as a failure. After it, every live allocation is still valid and the object that threw still
 * works, unless it is closed.
 */
public abstract class AllocatorException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what happened and what a person can do
     * @param cause what caused it, or {@code null}
     */
    protected AllocatorException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
