package allocator.bench.pairs;

import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;

/** Blocks that a thread allocates on a stream of its own. */
final class StreamSlots extends Slots {
    private final StreamAwareAllocator allocator;
    private final SyncStream stream;
    private final long[] blocks;

    StreamSlots(StreamAwareAllocator allocator, int slots) {
        this.allocator = allocator;
        stream = new IdleStream(allocator);
        blocks = new long[slots];
    }

    @Override
    void alloc(int slot, int byteSize) {
        blocks[slot] = allocator.allocOnStream(byteSize, stream);
    }

    @Override
    void free(int slot) {
        allocator.free(blocks[slot]);
    }

    @Override
    void touch(int slot, int byteSize) {
        AddressSlots.touch(blocks[slot], byteSize);
    }

    /** A stream that is never waited for: its memory stays its own. */
    private static final class IdleStream extends SyncStream {
        IdleStream(StreamAwareAllocator allocator) {
            super(allocator.info());
        }

        @Override
        public long handle() {
            return 0;
        }

        @Override
        public SyncNotification createNotification() {
            throw new UnsupportedOperationException("nobody waits for this stream");
        }

        @Override
        public void flush() {}

        @Override
        public void onSessionRunEnd() {}

        @Override
        public void close() {}
    }
}
