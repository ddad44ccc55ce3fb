package allocator.bench.subject;

import allocator.runtime.ManagedAllocator;
import allocator.spi.SyncStream;

/** Blocks that a thread allocates through a session on a stream of its own. */
final class SessionStreamSlots extends AddressSlots {
    private final ManagedAllocator allocator;
    private final SyncStream stream;

    SessionStreamSlots(ManagedAllocator allocator, int slots) {
        super(allocator, slots);
        this.allocator = allocator;
        stream = new IdleStream(allocator.info());
    }

    @Override
    public void alloc(int slot, int byteSize) {
        blocks[slot] = allocator.allocOnStream(byteSize, stream);
    }
}
