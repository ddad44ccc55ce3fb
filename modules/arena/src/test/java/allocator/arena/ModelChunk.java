package allocator.arena;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** A chunk of {@link ModelArena}. Mutable, compared by identity. */
final class ModelChunk {
    final ModelRegion region;
    long start;
    long end;
    boolean isFree = true;
    long requested;

    @Nullable
    SyncStream owner;

    long stamp;
    long untouchedHead;
    long untouchedTail;

    ModelChunk(ModelRegion region, long start, long end) {
        this.region = region;
        this.start = start;
        this.end = end;
    }

    long size() {
        return end - start;
    }

    /** Binds a free chunk to a stream unless one of its untouched ends covers it; {@code null} unbinds it. */
    void bind(@Nullable SyncStream newOwner, long newStamp, long head, long tail) {
        final boolean isUntouched = newOwner == null || head >= size() || tail >= size();
        owner = isUntouched ? null : newOwner;
        stamp = isUntouched ? 0 : newStamp;
        untouchedHead = isUntouched ? 0 : head;
        untouchedTail = isUntouched ? 0 : tail;
    }
}
