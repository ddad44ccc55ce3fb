package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.HeapUse;
import allocator.testkit.Share;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class SharedBumpArenaTest {
    private final FakeDevice device = new FakeDevice();

    @Nested
    class OneThread {
        @Test
        void hasTheFirstRegionAtOnceWhereItIsTaken() {
            SharedBumpArena arena = new SharedBumpArena(device, BumpConfig.fixed(1000));
            arena.takeFirstRegion();
            arena.takeFirstRegion();
            assertThat(arena.stats().freeBytes()).isEqualTo(1000);
            arena.allocate(300, 1);
            assertThat(arena.stats().freeBytes()).isEqualTo(700);
            assertThat(device.requestedSizes()).containsExactly(1000L);
            arena.close();
            assertThatThrownBy(arena::takeFirstRegion).isInstanceOf(AllocatorClosedException.class);
        }

        @Test
        void getsTheAddressesOfAConfinedArena() {
            SharedBumpArena arena = new SharedBumpArena(device, new BumpConfig(100, 50, 0));
            arena.allocate(90, 1);
            arena.allocate(20, 16);
            arena.allocate(200, 1);
            assertThat(device.requestedSizes()).containsExactly(100L, 50L, 200L);
            assertThat(arena.stats()).isEqualTo(new BumpStats(350, 310, 40, 350, 350, 3, 0, 0));
            arena.reset();
            arena.allocate(90, 1);
            arena.allocate(150, 1);
            assertThat(device.requestedSizes()).hasSize(3);
            assertThat(arena.stats()).isEqualTo(new BumpStats(300, 240, 60, 350, 350, 3, 0, 1));
            arena.close();
            arena.close();
            assertThat(device.liveBytes()).isZero();
            assertThatThrownBy(() -> arena.allocate(1, 1)).isInstanceOf(AllocatorClosedException.class);
            assertThatThrownBy(arena::reset).isInstanceOf(AllocatorClosedException.class);
        }

        @Test
        void canUseTheArenaAfterARejectedRequest() {
            SharedBumpArena arena = new SharedBumpArena(device, BumpConfig.fixed(100));
            assertThat(arena.allocate(0, 1)).isZero();
            arena.allocate(60, 1);
            assertThatThrownBy(() -> arena.allocate(-1, 1)).isInstanceOf(InvalidSizeException.class);
            assertThatThrownBy(() -> arena.allocate(Long.MAX_VALUE, 1)).isInstanceOf(InvalidSizeException.class);
            assertThatThrownBy(() -> arena.allocate(1, 3)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> arena.allocate(41, 1)).isInstanceOf(OutOfMemoryException.class);
            arena.allocate(40, 1);
            arena.close();
        }

        @Test
        void isLimitedToTheSumOfAllRegions() {
            SharedBumpArena arena = new SharedBumpArena(device, new BumpConfig(100, 100, 150));
            arena.allocate(100, 1);
            arena.allocate(10, 1);
            assertThatThrownBy(() -> arena.allocate(41, 1)).isInstanceOf(OutOfMemoryException.class);
            arena.allocate(40, 1);
            device.capacity(0);
            SharedBumpArena other = new SharedBumpArena(device, BumpConfig.growing(100));
            assertThatThrownBy(() -> other.allocate(1, 1)).isInstanceOf(OutOfMemoryException.class);
        }

        @Test
        void holdsStaleAddressesAfterAReset() {
            SharedBumpArena arena = new SharedBumpArena(device, BumpConfig.fixed(100));
            long generation = arena.generation();
            long old = arena.allocate(10, 1);
            arena.requireLive(old, generation);
            arena.reset();
            assertThat(arena.allocate(10, 1)).isEqualTo(old);
            assertThatThrownBy(() -> arena.requireLive(old, generation)).isInstanceOf(StaleAddressException.class);
        }
    }

    private record Block(long address, long byteSize) {}

    @Nested
    class SeveralThreads {
        @Test
        void getDisjointBlocks() throws Exception {
            SharedBumpArena arena = new SharedBumpArena(device, BumpConfig.growing(10_000));
            List<Future<List<Block>>> all = new ArrayList<>();
            try (var threads = Executors.newFixedThreadPool(8)) {
                for (int thread = 0; thread < 8; thread++) {
                    int seed = thread;
                    all.add(threads.submit(() -> {
                        List<Block> mine = new ArrayList<>();
                        for (int i = 0; i < 5000; i++) {
                            int byteSize = 1 + (i * 31 + seed) % 97;
                            mine.add(new Block(arena.allocate(byteSize, 1 << i % 5), byteSize));
                        }
                        return mine;
                    }));
                }
            }
            List<Block> blocks = new ArrayList<>();
            for (Future<List<Block>> one : all) {
                blocks.addAll(one.get());
            }
            blocks.sort(Comparator.comparingLong(Block::address));
            for (int i = 1; i < blocks.size(); i++) {
                Block before = blocks.get(i - 1);
                assertThat(before.address + before.byteSize).isLessThanOrEqualTo(blocks.get(i).address);
            }
            assertThat(arena.stats().requestedBytes())
                    .isEqualTo(blocks.stream().mapToLong(Block::byteSize).sum());
        }

        /** No two blocks with the same address and generation are called live. */
        @Test
        void areNotGivenALiveBlock() throws Exception {
            SharedBumpArena arena = new SharedBumpArena(device, BumpConfig.fixed(6400));
            Set<List<Long>> live = ConcurrentHashMap.newKeySet();
            try (var threads = Executors.newFixedThreadPool(3)) {
                List<Future<?>> all = new ArrayList<>();
                for (int thread = 0; thread < 2; thread++) {
                    all.add(threads.submit(() -> {
                        for (int i = 0; i < Share.of(200_000); i++) {
                            try {
                                long generation = arena.generation();
                                long address = arena.allocate(64, 64);
                                arena.requireLive(address, generation);
                                assertThat(live.add(List.of(address, generation)))
                                        .isTrue();
                            } catch (OutOfMemoryException | StaleAddressException e) {
                                Thread.onSpinWait();
                            }
                        }
                    }));
                }
                all.add(threads.submit(() -> {
                    for (int i = 0; i < Share.of(20_000); i++) {
                        arena.reset();
                    }
                }));
                for (Future<?> one : all) {
                    one.get();
                }
            }
            assertThat(live.size()).isPositive();
        }

        /**
         * Each allocation is ordered before or after a reset: every address lies in a region, and no memory is lost.
         */
        @Test
        void canAllocateDuringResets() throws Exception {
            SharedBumpArena arena = new SharedBumpArena(device, new BumpConfig(1 << 16, 1 << 16, 1 << 20));
            try (var threads = Executors.newFixedThreadPool(4)) {
                List<Future<?>> all = new ArrayList<>();
                for (int thread = 0; thread < 3; thread++) {
                    all.add(threads.submit(() -> {
                        for (int i = 0; i < 20_000; i++) {
                            try {
                                assertThat(arena.allocate(100, 16)).isNotZero();
                            } catch (OutOfMemoryException e) {
                                Thread.onSpinWait();
                            }
                        }
                    }));
                }
                all.add(threads.submit(() -> {
                    for (int i = 0; i < 2000; i++) {
                        arena.reset();
                    }
                }));
                for (Future<?> one : all) {
                    one.get();
                }
            }
            arena.reset();
            for (int i = 0; i < arena.stats().regions(); i++) {
                arena.allocate(1 << 16, 1);
            }
            assertThat(arena.stats().paddingBytes()).isZero();
        }

        /** An allocation that fails for want of heap after it has taken its block would lose the block. */
        @Test
        void takeNoHeapOnceTheyHaveABlock() throws Exception {
            SharedBumpArena warm = new SharedBumpArena(device, BumpConfig.fixed(1 << 25));
            allocateWithPadding(warm);
            for (int round = 0; round < 5; round++) {
                SharedBumpArena arena = new SharedBumpArena(device, BumpConfig.fixed(1 << 26));
                arena.allocate(1, 1);
                List<Future<Long>> all = new ArrayList<>();
                CountDownLatch start = new CountDownLatch(4);
                try (var threads = Executors.newFixedThreadPool(4)) {
                    for (int thread = 0; thread < 4; thread++) {
                        all.add(threads.submit(() -> {
                            start.countDown();
                            start.await();
                            return allocateWithPadding(arena);
                        }));
                    }
                }
                for (Future<Long> one : all) {
                    // The JVM may make an object once, where a thread leaves compiled code.
                    assertThat(one.get()).isLessThan(1000);
                }
                assertThat(arena.stats().requestedBytes()).isEqualTo(1 + 4 * 200_000);
            }
        }

        /** Returns the bytes of Java heap that the allocations have taken. */
        private long allocateWithPadding(SharedBumpArena arena) {

            long first = HeapUse.ofThisThread();
            long before = HeapUse.ofThisThread(); // the difference is what such a call takes itself
            for (int i = 0; i < 200_000; i++) {
                arena.allocate(1, 64);
            }
            return HeapUse.ofThisThread() - before - (before - first);
        }
    }
}
