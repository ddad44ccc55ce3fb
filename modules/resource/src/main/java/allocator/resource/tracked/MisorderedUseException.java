package allocator.resource.tracked;

import allocator.spi.AllocatorException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Thrown for uses of a block without a defined order: finishing a use that was not prepared, preparing a use that
 * conflicts with an open one on another stream, or freeing a block during a use.
 */
public final class MisorderedUseException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** The stream of the use that is open. */
    private final transient @Nullable SyncStream other;

    /**
     * Creates the exception.
     *
     * @param message the block with its tag, and what is wrong
     */
    public MisorderedUseException(String message) {
        this(message, null, null);
    }

    /** Creates the exception for a conflict with an open use, with the call site of that one if it is known. */
    MisorderedUseException(String message, @Nullable Throwable preparation, @Nullable SyncStream other) {
        super(message, preparation);
        this.other = other;
    }

    /** Returns the stream of the open use; {@code null} if the exception is not about one. */
    @Nullable
    SyncStream other() {
        return other;
    }
}
