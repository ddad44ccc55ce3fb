package allocator.resource.tracked;

import allocator.spi.AllocatorException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** Thrown for a misuse of a {@link TrackedBlock}; nothing has changed. The message names the block with its tag. */
public final class TrackedBlockException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** What is wrong. */
    private final Kind kind;

    /** The stream of the use that is open. */
    private final transient @Nullable SyncStream other;

    /** What is wrong. */
    public enum Kind {
        /** The block is freed. Its address may belong to another block now. */
        STALE,
        /** Another tracked memory has allocated the block. */
        FOREIGN,
        /**
         * Uses of the block have no defined order: finishing a use that was not prepared, preparing a use that
         * conflicts with an open one on another stream, or freeing a block during a use.
         */
        MISORDERED
    }

    TrackedBlockException(Kind kind, String message) {
        this(kind, message, null, null);
    }

    /** Creates the exception with the call site of the free or of the open use, and the stream of the open use. */
    TrackedBlockException(Kind kind, String message, @Nullable Throwable earlier, @Nullable SyncStream other) {
        super(message, earlier);
        this.kind = kind;
        this.other = other;
    }

    /** {@return what is wrong: the kind of the misuse} */
    public Kind kind() {
        return kind;
    }

    /** Returns the stream of the open use; {@code null} if the exception is not about one. */
    @Nullable
    SyncStream other() {
        return other;
    }
}
