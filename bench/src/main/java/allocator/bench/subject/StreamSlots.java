package allocator.bench.subject;

import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/** Blocks that a thread allocates on a stream of its own. */
final class StreamSlots extends AddressSlots {
    private final StreamAwareAllocator allocator;
    private final SyncStream stream;

    StreamSlots(StreamAwareAllocator allocator, int slots) {
        super(allocator, slots);
        this.allocator = allocator;
        stream = new IdleStream(allocator.info());
    }

    @Override
    public void alloc(int slot, int byteSize) {
        blocks[slot] = allocator.allocOnStream(byteSize, stream);
    }
}
