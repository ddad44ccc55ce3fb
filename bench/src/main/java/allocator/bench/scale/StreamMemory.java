package allocator.bench.scale;

import allocator.arena.BfcArena;
import allocator.arena.bump.BumpAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;

/** An allocator whose streams end their runs and close. */
interface StreamMemory {
    MemoryInfo info();

    long alloc(long byteSize, SyncStream stream);

    void free(long address);

    void endRun(SyncStream stream);

    void releaseStream(SyncStream stream);

    void shrink();

    void close();

    static StreamMemory of(BfcArena arena) {
        return new StreamMemory() {
            @Override
            public MemoryInfo info() {
                return arena.info();
            }

            @Override
            public long alloc(long byteSize, SyncStream stream) {
                return arena.allocOnStream(byteSize, stream);
            }

            @Override
            public void free(long address) {
                arena.free(address);
            }

            @Override
            public void endRun(SyncStream stream) {
                arena.endRun(stream);
            }

            @Override
            public void releaseStream(SyncStream stream) {
                arena.releaseStream(stream);
            }

            @Override
            public void shrink() {
                arena.shrink();
            }

            @Override
            public void close() {
                arena.close();
            }
        };
    }

    static StreamMemory of(BumpAllocator allocator) {
        return new StreamMemory() {
            @Override
            public MemoryInfo info() {
                return allocator.info();
            }

            @Override
            public long alloc(long byteSize, SyncStream stream) {
                return allocator.allocOnStream(byteSize, stream);
            }

            @Override
            public void free(long address) {
                allocator.free(address);
            }

            @Override
            public void endRun(SyncStream stream) {
                allocator.endRun(stream);
            }

            @Override
            public void releaseStream(SyncStream stream) {
                allocator.releaseStream(stream);
            }

            @Override
            public void shrink() {
                allocator.shrink();
            }

            @Override
            public void close() {
                allocator.close();
            }
        };
    }
}
