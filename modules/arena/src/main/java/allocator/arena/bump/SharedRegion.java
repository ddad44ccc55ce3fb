package allocator.arena.bump;

import java.util.concurrent.atomic.AtomicLong;

/** A region of a {@link SharedBumpArena}. Its offset alone defines which bytes are in use. */
final class SharedRegion extends BumpRegion {
    /** Position in the chain. */
    final int index;

    /** Bytes in use; moved by compare-and-set. */
    final AtomicLong offset = new AtomicLong();

    SharedRegion(int index, long byteSize) {
        super(byteSize);
        this.index = index;
    }

    @Override
    long room(long byteAlignment) {
        return byteSize - align(offset.get(), byteAlignment);
    }
}
