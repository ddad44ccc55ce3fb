package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Several threads on one arena. */
@Timeout(120)
class BfcArenaConcurrencyTest {
    private static final int THREADS = 6;
    private static final int STEPS = 20_000;

    /** Live blocks of all threads; rejects one that overlaps another. */
    private static final class OverlapCheck {
        private final ConcurrentSkipListMap<Long, Long> live = new ConcurrentSkipListMap<>();

        void enter(long address, long byteSize) {
            assertThat(live.put(address, address + byteSize))
                    .as("block at the same address")
                    .isNull();
            final var before = live.lowerEntry(address);
            assertThat(before == null || before.getValue() <= address)
                    .as("no overlap with the block before")
                    .isTrue();
            final Long after = live.higherKey(address);
            assertThat(after == null || after >= address + byteSize)
                    .as("no overlap with the block after")
                    .isTrue();
        }

        void leave(long address) {
            assertThat(live.remove(address)).isNotNull();
        }
    }

    @Test
    void platformThreadsShareAnArena() throws Exception {
        try (ExecutorService executor = Executors.newFixedThreadPool(THREADS)) {
            shareAnArena(executor);
        }
    }

    @Test
    void virtualThreadsShareAnArena() throws Exception {
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            shareAnArena(executor);
        }
    }

    /** LiveSizes are passed on and freed by other threads, of other lanes too; one thread shrinks all the time. */
    private static void shareAnArena(ExecutorService executor) throws Exception {
        final FakeDevice device = new FakeDevice();
        final long limit = 64 << 20;
        final BfcArena arena = new BfcArena(
                device,
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        4096,
                        1 << 20,
                        4096,
                        1 << 22,
                        limit,
                        PlacementPolicy.BEST_FIT,
                        0,
                        true));
        final OverlapCheck check = new OverlapCheck();
        final LinkedBlockingQueue<Long> passedOn = new LinkedBlockingQueue<>();
        final CountDownLatch working = new CountDownLatch(THREADS);
        final List<Future<?>> futures = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            final int seed = i;
            futures.add(executor.submit(() -> {
                try {
                    work(arena, check, passedOn, new SplittableRandom(seed), limit);
                } finally {
                    working.countDown();
                }
            }));
        }
        futures.add(executor.submit(() -> {
            while (!working.await(1, TimeUnit.MILLISECONDS)) {
                arena.shrink();
                final AllocatorStats stats = arena.stats();
                assertThat(stats.bytesHeld())
                        .isEqualTo(stats.bytesInUse() + stats.freeBytes())
                        .isLessThanOrEqualTo(limit);
            }
            return null;
        }));
        for (final Future<?> future : futures) {
            future.get();
        }
        for (final long address : passedOn) {
            arena.free(address);
        }

        arena.checkConsistency();
        final AllocatorStats stats = arena.stats();
        assertThat(stats.bytesInUse()).isZero();
        assertThat(stats.requestedBytesInUse()).isZero();
        assertThat(stats.bytesHeld()).isEqualTo(device.liveBytes());
        assertThat(stats.peakBytesHeld()).isLessThanOrEqualTo(limit);
        arena.shrink();
        assertThat(device.liveBlocks()).isEqualTo((int) arena.stats().numArenaExtensions());
        assertThat(arena.close().liveAllocations()).isZero();
        assertThat(device.liveBlocks()).isZero();
    }

    private static void work(
            BfcArena arena,
            OverlapCheck check,
            LinkedBlockingQueue<Long> passedOn,
            SplittableRandom random,
            long limit) {
        final FakeStream stream = new FakeStream();
        if (random.nextBoolean()) {
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
        }
        for (int i = 0; i < STEPS; i++) {
            final int choice = random.nextInt(100);
            if (choice < 50) {
                final long byteSize = 1L + random.nextInt(1 << random.nextInt(8, 18));
                try {
                    final long address = choice < 2
                            ? arena.reserve(byteSize)
                            : choice < 20 ? arena.alloc(byteSize) : arena.allocOnStream(byteSize, stream);
                    check.enter(address, byteSize);
                    passedOn.add(address);
                } catch (OutOfMemoryException e) {
                    assertThat(e.shortage().limit()).isEqualTo(limit);
                }
            } else if (choice < 98) {
                final Long address = passedOn.poll();
                if (address != null) {
                    check.leave(address);
                    arena.free(address);
                }
            } else {
                arena.releaseStream(stream);
            }
        }
        arena.releaseStream(stream);
    }

    /** A device whose next call waits until it is let go. */
    @SuppressWarnings("UnsynchronizedOverridesSynchronized") // lingers outside the lock
    private static final class SlowDevice extends FakeDevice {
        private final CountDownLatch entered = new CountDownLatch(1);
        private final CountDownLatch letGo = new CountDownLatch(1);
        private volatile boolean isSlow;

        @Override
        public long alloc(long byteSize) {
            linger();
            return super.alloc(byteSize);
        }

        @Override
        public void free(long address) {
            linger();
            super.free(address);
        }

        private void linger() {
            if (isSlow) {
                isSlow = false;
                entered.countDown();
                try {
                    letGo.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }

    private static void othersProceedDuring(SlowDevice device, BfcArena arena, Runnable slowCall) throws Exception {
        try (ExecutorService executor = Executors.newFixedThreadPool(2)) {
            device.isSlow = true;
            final Future<?> slow = executor.submit(slowCall);
            device.entered.await();
            try {
                executor.submit(() -> {
                            for (int i = 0; i < 100; i++) {
                                arena.free(arena.alloc(1000));
                                arena.stats();
                            }
                            arena.checkConsistency();
                        })
                        .get(20, TimeUnit.SECONDS);
            } catch (TimeoutException e) {
                Assertions.fail("a thread with a free chunk waits for the device", e);
            } finally {
                device.letGo.countDown();
            }
            slow.get();
        }
        arena.checkConsistency();
    }

    @Test
    void anAllocationFromAFreeChunkDoesNotWaitForAnExtension() throws Exception {
        final SlowDevice device = new SlowDevice();
        final BfcArena arena = new BfcArena(device, ArenaConfig.DEFAULT);
        arena.alloc(1000);

        othersProceedDuring(device, arena, () -> arena.alloc(5 << 20));
    }

    @Test
    void anAllocationFromAFreeChunkDoesNotWaitForAReserve() throws Exception {
        final SlowDevice device = new SlowDevice();
        final BfcArena arena = new BfcArena(device, ArenaConfig.DEFAULT);
        arena.alloc(1000);

        othersProceedDuring(device, arena, () -> arena.reserve(1000));
    }

    @Test
    void anAllocationFromAFreeChunkDoesNotWaitForAFreeOfAReserve() throws Exception {
        final SlowDevice device = new SlowDevice();
        final BfcArena arena = new BfcArena(device, ArenaConfig.DEFAULT);
        arena.alloc(1000);
        final long reserve = arena.reserve(1000);

        othersProceedDuring(device, arena, () -> arena.free(reserve));
    }

    @Test
    void anAllocationFromAFreeChunkDoesNotWaitForAShrink() throws Exception {
        final SlowDevice device = new SlowDevice();
        final BfcArena arena = new BfcArena(device, ArenaConfig.DEFAULT);
        arena.alloc(1000);
        arena.free(arena.alloc(5 << 20));

        othersProceedDuring(device, arena, arena::shrink);
        assertThat(device.liveBlocks()).isEqualTo(1);
    }

    /** The bytes on order count: two requests that fit one at a time never go past the limit together. */
    @Test
    void whatIsOnOrderCountsAgainstTheLimit() throws Exception {
        final SlowDevice device = new SlowDevice();
        final long limit = 10 << 20;
        final BfcArena arena = new BfcArena(
                device,
                new ArenaConfig(
                        ExtendStrategy.SAME_AS_REQUESTED,
                        4096,
                        1 << 20,
                        4096,
                        4096,
                        limit,
                        PlacementPolicy.BEST_FIT,
                        0,
                        true));
        try (ExecutorService executor = Executors.newFixedThreadPool(2)) {
            device.isSlow = true;
            final Future<Long> first = executor.submit(() -> arena.alloc(6 << 20));
            device.entered.await();
            final Future<Long> second = executor.submit(() -> arena.reserve(6 << 20));
            Thread.sleep(Duration.ofMillis(20));
            device.letGo.countDown();

            assertThat(first.get()).isPositive();
            Assertions.assertThatThrownBy(second::get).hasCauseInstanceOf(OutOfMemoryException.class);
            assertThat(device.liveBytes()).isLessThanOrEqualTo(limit);
        }
    }

    /** Work of the stream may wait for the thread that allocates. */
    @Test
    void anAllocationDoesNotWaitForTheStreamsOfAShrink() throws Exception {
        final BfcArena arena = new BfcArena(new FakeDevice(), ArenaConfig.DEFAULT);
        final CountDownLatch isFlushing = new CountDownLatch(1);
        final CountDownLatch hasAllocated = new CountDownLatch(1);
        final AtomicBoolean isDone = new AtomicBoolean();
        final FakeStream stream = new FakeStream().before(operation -> {
            if (operation.equals("flush")) {
                isFlushing.countDown();
                isDone.set(hasCome(hasAllocated));
            }
        });
        arena.free(arena.alloc(1000)); // in the first region, which stays
        arena.free(arena.allocOnStream(8 << 20, stream));
        final Thread shrinking = Thread.ofPlatform().start(arena::shrink);
        assertThat(hasCome(isFlushing)).isTrue();

        arena.free(arena.alloc(64 << 20));
        arena.free(arena.reserve(1000));

        hasAllocated.countDown();
        shrinking.join();
        assertThat(isDone).isTrue();
        arena.checkConsistency();
        arena.close();
    }

    /** Work of the stream may wait for the thread that reserves. */
    @Test
    void noCallWaitsForTheStreamsOfAClose() throws Exception {
        final BfcArena arena = new BfcArena(new FakeDevice(), ArenaConfig.DEFAULT);
        final CountDownLatch isFlushing = new CountDownLatch(1);
        final CountDownLatch hasCalled = new CountDownLatch(1);
        final AtomicBoolean isDone = new AtomicBoolean();
        final FakeStream stream = new FakeStream().before(operation -> {
            if (operation.equals("flush")) {
                isFlushing.countDown();
                isDone.set(hasCome(hasCalled));
            }
        });
        arena.free(arena.allocOnStream(8 << 20, stream));
        final Thread closing = Thread.ofPlatform().start(arena::close);
        assertThat(hasCome(isFlushing)).isTrue();

        assertThatThrownBy(() -> arena.reserve(1000)).isInstanceOf(AllocatorClosedException.class);
        assertThatThrownBy(() -> arena.alloc(64 << 20)).isInstanceOf(AllocatorClosedException.class);

        hasCalled.countDown();
        closing.join();
        assertThat(isDone).isTrue();
    }

    private static boolean hasCome(CountDownLatch latch) {
        try {
            return latch.await(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
