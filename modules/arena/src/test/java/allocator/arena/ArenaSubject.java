package allocator.arena;

import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpConfig;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.SyncStream;
import java.util.Map;
import java.util.TreeMap;

/** What a test program calls: an allocator of this module that knows streams. */
interface ArenaSubject {
    long alloc(long byteSize);

    long allocOnStream(long byteSize, SyncStream stream);

    long reserve(long byteSize);

    void free(long address);

    void endRun(SyncStream stream);

    void releaseStream(SyncStream stream);

    void shrink();

    AllocatorStats stats();

    void close();

    /** Checks what the allocator records of its live blocks. */
    void verify(Map<Long, Long> live);

    /** Fails unless a condition holds; without a library, for programs in a JVM of their own. */
    static void require(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    /** The allocators. */
    enum Kind {
        BEST_FIT,
        SLABS,
        COMPACT,
        BUMP;

        /** Opens one over a device. */
        ArenaSubject open(Allocator upstream) {
            return switch (this) {
                case BEST_FIT -> new Bfc(upstream, PlacementPolicy.BEST_FIT);
                case SLABS -> new Bfc(upstream, PlacementPolicy.SLABS);
                case COMPACT -> new Bfc(upstream, PlacementPolicy.COMPACT);
                case BUMP -> new Bump(upstream);
            };
        }
    }

    /** Small regions, and one lane. */
    ArenaConfig CONFIG = new ArenaConfig(
            ExtendStrategy.POWER_OF_TWO, 1 << 16, 1 << 16, 1 << 20, 1 << 20, 0, PlacementPolicy.BEST_FIT, 1, false);

    record Bfc(BfcArena arena) implements ArenaSubject {
        Bfc(Allocator upstream, PlacementPolicy policy) {
            this(AllocatedPages.arena(upstream, config(policy)));
        }

        /** Slabs need larger regions. */
        private static ArenaConfig config(PlacementPolicy policy) {
            return policy != PlacementPolicy.SLABS
                    ? CONFIG.withPlacementPolicy(policy)
                    : new ArenaConfig(
                            ExtendStrategy.POWER_OF_TWO, 1 << 22, 1 << 16, 1 << 22, 1 << 22, 0, policy, 1, false);
        }

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
        public void shrink() {
            arena.shrink();
        }

        @Override
        public AllocatorStats stats() {
            return arena.stats();
        }

        @Override
        public void close() {
            arena.close();
        }

        @Override
        public void verify(Map<Long, Long> live) {
            arena.checkConsistency();
            live.forEach((address, byteSize) -> ArenaSubject.require(
                    arena.requestedSize(address) == byteSize, "size of a live block at " + address));
        }
    }

    record Bump(BumpAllocator allocator) implements ArenaSubject {
        Bump(Allocator upstream) {
            this(new BumpAllocator(upstream, new BumpConfig(1 << 16, 1 << 16, 1 << 20), 0, AllocatorOptions.EMPTY));
        }

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
        public void shrink() {
            allocator.shrink();
        }

        @Override
        public AllocatorStats stats() {
            return allocator.stats();
        }

        @Override
        public void close() {
            allocator.close();
        }

        @Override
        public void verify(Map<Long, Long> live) {
            long end = 0;
            for (final Map.Entry<Long, Long> block : new TreeMap<>(live).entrySet()) {
                ArenaSubject.require(block.getKey() >= end, "blocks overlap at " + block);
                end = block.getKey() + block.getValue();
            }
        }
    }
}
