package allocator.simulation.world;

import allocator.arena.BfcArena;
import allocator.arena.LaneAccess;
import allocator.arena.bump.BumpAllocator;
import allocator.spi.AllocatorStats;
import allocator.spi.SyncStream;

/** What is called of an arena. */
interface ArenaSubject {
    long alloc(long byteSize);

    long allocOnStream(long byteSize, SyncStream stream);

    long reserve(long byteSize);

    void free(long address);

    void endRun(SyncStream stream);

    void releaseStream(SyncStream stream);

    void leaveMainLane(SyncStream stream);

    void shrink();

    AllocatorStats stats();

    void verify();

    void close();

    /** Returns whether a close that failed has closed all or nothing. */
    boolean isWhollyOpenOrClosed();

    record Bfc(BfcArena arena) implements ArenaSubject {
        @Override
        public long alloc(long byteSize) {
            return arena.alloc(byteSize);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            return arena.allocOnStream(byteSize, stream);
        }

        @Override
        public long reserve(long byteSize) {
            return arena.reserve(byteSize);
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
        public void leaveMainLane(SyncStream stream) {
            LaneAccess.leaveMainLane(arena, stream);
        }

        @Override
        public void shrink() {
            arena.shrink();
        }

        @Override
        public AllocatorStats stats() {
            return arena.stats();
        }

        @Override
        public void verify() {
            arena.checkConsistency();
        }

        @Override
        public void close() {
            arena.close();
        }

        @Override
        public boolean isWhollyOpenOrClosed() {
            return LaneAccess.isWhollyOpenOrClosed(arena);
        }
    }

    record Bump(BumpAllocator allocator) implements ArenaSubject {
        @Override
        public long alloc(long byteSize) {
            return allocator.alloc(byteSize);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            return allocator.allocOnStream(byteSize, stream);
        }

        @Override
        public long reserve(long byteSize) {
            return allocator.reserve(byteSize);
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
        public void leaveMainLane(SyncStream stream) {}

        @Override
        public void shrink() {
            allocator.shrink();
        }

        @Override
        public AllocatorStats stats() {
            return allocator.stats();
        }

        @Override
        public void verify() {}

        @Override
        public void close() {
            allocator.close();
        }

        @Override
        public boolean isWhollyOpenOrClosed() {
            return true;
        }
    }
}
