package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What an arena does that is divided into lanes, and when it divides. */
@Timeout(120)
class LanesTest {
    private static final long MIB = 1 << 20;
    private static final long CAPACITY = 64 * MIB;

    private final SimulatedDevice device = new SimulatedDevice().capacity(CAPACITY);
    private final SimulatedStream first = new SimulatedStream();
    private final SimulatedStream second = new SimulatedStream();
    private BfcArena arena = create(Map.of());

    private BfcArena create(Map<String, String> options) {
        return new BfcArena(
                device, ArenaConfig.from(AllocatorOptions.of(options)).withKeepFirstRegion(false));
    }

    private void recreate(String key, long value) {
        arena = create(Map.of(key, Long.toString(value)));
    }

    private void divide() {
        arena.moveOut(first);
        arena.moveOut(second);
    }

    // ---- when it divides

    @Test
    void streamsThatTakeTurnsStayTogether() {
        for (int i = 0; i < 1000; i++) {
            final long one = arena.allocOnStream(1000, first);
            final long other = arena.allocOnStream(1000, second);
            arena.free(one);
            arena.free(other);
        }
        assertThat(arena.laneCount()).isEqualTo(1);
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
    }

    @Test
    void oneStreamOfManyThreadsStaysWhereItIs() throws InterruptedException {
        inThreads(8, number -> {
            for (int i = 0; i < 2000; i++) {
                arena.free(arena.allocOnStream(1000, first));
            }
        });
        assertThat(arena.laneCount()).isEqualTo(1);
    }

    @Test
    void threadsThatMeetGetLanesAndNoMoreThanAllowed() throws InterruptedException {
        recreate("arena.max_lanes", 3);
        final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        inThreads(6, number -> {
            while (arena.laneCount() < 3 && System.nanoTime() < end) {
                for (int i = 0; i < 1000; i++) {
                    arena.free(arena.alloc(1000));
                }
            }
            // Time for a fourth to come, if it did.
            for (int i = 0; i < 50_000; i++) {
                arena.free(arena.alloc(1000));
            }
        });
        assertThat(arena.laneCount()).isEqualTo(3);
        assertThat(arena.stats().bytesInUse()).isZero();
    }

    @Test
    void streamsThatMeetGetLanes() throws InterruptedException {
        final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        inThreads(2, number -> {
            final SimulatedStream stream = number == 0 ? first : second;
            while (arena.laneCount() == 1 && System.nanoTime() < end) {
                for (int i = 0; i < 1000; i++) {
                    arena.free(arena.allocOnStream(1000, stream));
                }
            }
        });
        assertThat(arena.laneCount()).isGreaterThan(1);
    }

    @Test
    void oneLaneIsAllThereIsIfNoMoreAreAllowed() throws InterruptedException {
        recreate("arena.max_lanes", 1);
        inThreads(4, number -> {
            for (int i = 0; i < 20_000; i++) {
                arena.free(arena.alloc(1000));
            }
        });
        arena.moveOut(first);
        arena.free(arena.allocOnStream(1000, first));
        assertThat(arena.laneCount()).isEqualTo(1);
        assertThat(arena.stats().numArenaExtensions()).isEqualTo(1);
    }

    private interface Work {
        void run(int number) throws Exception;
    }

    private static void inThreads(int count, Work work) throws InterruptedException {
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        final CyclicBarrier start = new CyclicBarrier(count);
        final Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            final int number = i;
            threads[i] = Thread.ofPlatform().start(() -> {
                try {
                    start.await();
                    work.run(number);
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                }
            });
        }
        for (final Thread thread : threads) {
            thread.join();
        }
        assertThat(failure.get()).isNull();
    }

    // ---- what is different then, and what is not

    @Test
    void memoryIsFreedWhereItCameFrom() {
        final long before = arena.allocOnStream(1000, first);
        arena.moveOut(first);
        final long after = arena.allocOnStream(1000, first);
        final long mine = arena.alloc(1000);
        assertThat(arena.laneCount()).isEqualTo(2);
        assertThat(arena.stats().requestedBytesInUse()).isEqualTo(3000);
        assertThat(arena.stats().bytesHeld()).isEqualTo(2 * MIB);
        assertThat(List.of(before, after, mine)).allSatisfy(address -> {
            assertThat(arena.requestedSize(address)).isEqualTo(1000);
            assertThat(arena.allocatedSize(address)).isEqualTo(1024);
        });
        arena.free(before);
        arena.free(after);
        arena.free(mine);
        final AllocatorStats stats = arena.stats();
        assertThat(stats.bytesInUse()).isZero();
        assertThat(stats.freeBytes()).isEqualTo(stats.bytesHeld());
        assertThat(stats.numAllocs()).isEqualTo(3);
        assertThat(arena.shrink()).isEqualTo(new ShrinkReport(2 * MIB, 2, 0, 0, 0));
        assertThat(device.liveBlocks()).isZero();
    }

    @Test
    void onlyTheMainLaneKeepsItsFirstRegion() {
        arena = new BfcArena(device, ArenaConfig.DEFAULT);
        arena.free(arena.alloc(1000));
        arena.moveOut(first);
        arena.free(arena.allocOnStream(1000, first));
        assertThat(arena.shrink()).isEqualTo(new ShrinkReport(MIB, 1, MIB, 0, 1));
    }

    @Test
    void badFreesAreToldApartInEveryLane() {
        arena.moveOut(first);
        final long address = arena.allocOnStream(1000, first);
        assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> arena.free(address + 256));
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> arena.free(address + CAPACITY));
        arena.free(address);
        assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> arena.free(address));
        arena.shrink();
        assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> arena.free(address));
    }

    @Test
    void aStreamsMemoryInTheMainLaneIsUntiedAsWell() {
        final long before = arena.allocOnStream(MIB, first);
        arena.moveOut(first);
        arena.free(before);
        assertThat(arena.alloc(MIB)).as("memory of the stream").isNotEqualTo(before);
        arena.endRun(first);
        assertThat(arena.alloc(MIB)).isEqualTo(before);
    }

    @Test
    void underPressureLanesServeAndGiveBack() {
        divide();
        final long most = arena.allocOnStream(CAPACITY - 2 * MIB, first);
        arena.free(most);
        arena.endRun(first);
        final long chunk = arena.allocOnStream(CAPACITY - 2 * MIB, second);
        assertThat(chunk).isEqualTo(most);
        arena.free(chunk);
        arena.endRun(second);
        // Larger than any lane has free: all must go back first.
        final long all = arena.allocOnStream(CAPACITY, second);
        arena.free(all);
        arena.endRun(second);
        arena.free(arena.alloc(CAPACITY));
        arena.free(arena.reserve(CAPACITY));
        assertThat(arena.stats().numFailedAllocs()).isZero();
        assertThat(arena.stats().numAllocs()).isEqualTo(5);
    }

    @Test
    void theLimitHoldsForAllLanesTogether() {
        recreate("arena.max_mem", 4 * MIB);
        divide();
        final long one = arena.allocOnStream(2 * MIB, first);
        final long other = arena.allocOnStream(2 * MIB, second);
        assertThat(arena.stats().bytesHeld()).isEqualTo(4 * MIB);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> arena.alloc(1))
                .satisfies(e -> {
                    assertThat(e.shortage().limit()).isEqualTo(4 * MIB);
                    assertThat(e.shortage().inUse()).isEqualTo(4 * MIB);
                    assertThat(e.shortage().held()).isEqualTo(4 * MIB);
                });
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.reserve(1));
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.allocOnStream(1, first));
        assertThat(arena.stats().numFailedAllocs()).isEqualTo(3);
        arena.free(one);
        arena.free(arena.reserve(2 * MIB));
        arena.free(other);
        assertThat(arena.stats().peakBytesHeld()).isEqualTo(4 * MIB);
        assertThat(arena.stats().numFailedAllocs()).isEqualTo(3);
    }

    @Test
    void aRefusalIsCountedOnceAlsoIfTheDeviceFailsAtTheShrink() {
        recreate("arena.max_mem", 4 * MIB);
        divide();
        arena.free(arena.allocOnStream(4 * MIB, first));
        arena.endRun(first);
        device.failFrees(call -> true);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> arena.reserve(1))
                .satisfies(e -> assertThat(e.getSuppressed()).hasAtLeastOneElementOfType(DeviceException.class));
        assertThat(arena.stats().numFailedAllocs()).isEqualTo(1);
        device.failFrees(call -> false);
        arena.free(arena.reserve(1));
    }

    @Test
    void aLaneOfAReleasedStreamIsUsedAgain() {
        for (int i = 0; i < 10; i++) {
            final SimulatedStream brief = new SimulatedStream();
            arena.moveOut(brief);
            arena.free(arena.allocOnStream(MIB, brief));
            arena.releaseStream(brief);
        }
        assertThat(arena.laneCount()).isEqualTo(2);
        assertThat(arena.stats().bytesHeld()).isEqualTo(MIB);
    }

    @Test
    void moreStreamsThanLanesShareThem() {
        recreate("arena.max_lanes", 3);
        final SimulatedStream third = new SimulatedStream();
        divide();
        arena.moveOut(third);
        final long one = arena.allocOnStream(1000, first);
        final long other = arena.allocOnStream(1000, third);
        assertThat(arena.laneCount()).isEqualTo(3);
        assertThat(arena.stats().bytesHeld())
                .as("both in the lane of the first")
                .isEqualTo(MIB);
        arena.free(one);
        arena.free(other);
        arena.releaseStream(first);
        arena.free(arena.allocOnStream(1000, third));
        assertThat(arena.stats().bytesInUse()).isZero();
    }

    @Test
    void memoryThatCannotGoBackStaysInTheBudget() {
        recreate("arena.max_mem", 4 * MIB);
        arena.moveOut(first);
        arena.free(arena.allocOnStream(4 * MIB, first));
        arena.endRun(first);
        device.failFrees(call -> true);
        assertThatExceptionOfType(DeviceException.class).isThrownBy(arena::shrink);
        assertThat(arena.stats().bytesHeld()).isEqualTo(4 * MIB);
        assertThat(arena.snapshot().unreturned()).hasSize(1);
        assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(MIB));
        device.failFrees(call -> false);
        arena.shrink();
        assertThat(arena.stats().bytesHeld()).isZero();
        arena.free(arena.alloc(MIB));
    }

    /** The device took it back and said that it did not; then it gives the same addresses to another lane. */
    @Test
    void whatAnotherLaneGetsIsNotReturnedTwice() {
        final ForgetfulDevice forgetful = new ForgetfulDevice();
        arena = new BfcArena(forgetful, ArenaConfig.DEFAULT.withKeepFirstRegion(false));
        divide();
        arena.free(arena.allocOnStream(MIB, first));
        arena.endRun(first);
        forgetful.isForgetful = true;
        assertThatExceptionOfType(DeviceException.class).isThrownBy(arena::shrink);
        final long live = arena.allocOnStream(MIB, second);
        assertThat(arena.snapshot().unreturned()).isEmpty();
        assertThat(arena.stats().bytesHeld()).isEqualTo(2 * MIB);
        arena.shrink();
        assertThat(forgetful.isLive).as("what lives in the second lane").isTrue();
        arena.free(live);
        arena.checkConsistency();
    }

    /** Has one address to give; can take it back and fail all the same. */
    private static final class ForgetfulDevice extends SimulatedDevice {
        private static final long ADDRESS = 0x1000_0000L;
        private boolean isForgetful;
        private boolean isLive;

        @Override
        public synchronized long alloc(long byteSize) {
            assertThat(isLive).isFalse();
            isLive = true;
            return ADDRESS;
        }

        @Override
        public synchronized void free(long address) {
            isLive = false;
            if (isForgetful) {
                isForgetful = false;
                throw new DeviceException("it is back, but the driver failed", null);
            }
        }
    }

    @Test
    void aSnapshotShowsAllLanesInOrderOfAddress() {
        divide();
        arena.allocOnStream(1000, second);
        arena.allocOnStream(1000, first);
        arena.alloc(1000);
        final ArenaSnapshot snapshot = arena.snapshot();
        assertThat(snapshot.regions()).extracting(ArenaSnapshot.Region::lane).containsExactly(2, 1, 0);
        assertThat(snapshot.regions()).isSortedAccordingTo((a, b) -> Long.compare(a.address(), b.address()));
        assertThat(snapshot.stats()).isEqualTo(arena.stats());
        assertThat(snapshot.stats().bytesInUse()).isEqualTo(3 * 1024);
    }

    @Test
    void closingClosesAllLanes() {
        divide();
        final long live = arena.allocOnStream(1000, first);
        arena.allocOnStream(1000, second);
        arena.reserve(1000);
        assertThat(arena.close()).isEqualTo(new CloseReport(3, 3000, 2 * MIB + 1000));
        assertThat(device.liveBlocks()).isZero();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> arena.free(live));
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> arena.allocOnStream(1, second));
        arena.moveOut(new SimulatedStream());
        assertThat(arena.laneCount()).isEqualTo(3);
        assertThat(arena.close()).isEqualTo(new CloseReport(0, 0, 0));
    }
}
