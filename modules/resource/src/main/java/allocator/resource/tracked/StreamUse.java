package allocator.resource.tracked;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** The uses of one block by one stream: recorded, and open. Guarded by the block's lock. */
final class StreamUse {
    final SyncStream stream;

    /** Recorded behind the last read; {@code null} if no read follows the last write. */
    @Nullable
    SharedEvent lastRead;

    /** The write for which the stream has waited. */
    @Nullable
    SharedEvent awaitedWrite;

    /** Whether a use has no event, so that only an event recorded later is certain to follow it. */
    boolean hasUseWithoutEvent;

    private int openReads;
    private int openWrites;

    StreamUse(SyncStream stream) {
        this.stream = stream;
    }

    /**
     * Records an event behind all work submitted to the stream so far, in place of the missing ones. Where the stream
     * has ended none is missing, since its work is done. Returns false if none can be recorded yet: the stream is
     * closed, and its work is not known to be done.
     */
    boolean recordMissing(StreamEvents events) {
        SharedEvent recorded = null;
        if (!stream.hasEnded()) {
            try {
                recorded = new SharedEvent(events, stream, 1);
            } catch (IllegalStateException e) {
                if (!stream.hasEnded()) {
                    return false;
                }
            }
        }
        final SharedEvent replaced = lastRead;
        lastRead = recorded;
        hasUseWithoutEvent = false;
        if (replaced != null) {
            replaced.release();
        }
        return true;
    }

    boolean isOpen() {
        return openReads + openWrites > 0;
    }

    /** Returns whether an access on another stream conflicts with an open use of this one. */
    boolean conflictsWith(Access access) {
        return openWrites > 0 || (access == Access.WRITE && openReads > 0);
    }

    void open(Access access) {
        if (access == Access.WRITE) {
            openWrites++;
        } else {
            openReads++;
        }
    }

    /** Closes an open use; returns whether there was one. */
    boolean close(Access access) {
        if (access == Access.WRITE) {
            if (openWrites == 0) {
                return false;
            }
            openWrites--;
        } else {
            if (openReads == 0) {
                return false;
            }
            openReads--;
        }
        return true;
    }
}
