package allocator.spi;

import org.jspecify.annotations.Nullable;

/**
 * A failure that this contract defines. After it, every live block is still valid and the object that threw still
 * works, unless it is closed.
 */
public abstract class AllocatorException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what happened, and what to do about it
     * @param cause the cause, or {@code null}
     */
    protected AllocatorException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
