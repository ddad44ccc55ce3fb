package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import allocator.testkit.Faults;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A device that fails at any moment: nothing leaks, the counters are true, the next call works. */
class BfcArenaFaultsTest {
    private static final int KIB = 1024;

    private final FakeDevice device = new FakeDevice();

    private BfcArena arena(ExtendStrategy strategy) {
        return new BfcArena(
                device, new ArenaConfig(strategy, 4096, 1 << 20, 4096, 1 << 20, 0, PlacementPolicy.BEST_FIT, 0, false));
    }

    private void expectTruth(BfcArena arena) {
        arena.checkConsistency();
        assertThat(arena.stats().bytesHeld()).isEqualTo(device.liveBytes());
    }

    /** Does a bit of everything, in one lane or in two; what fails is skipped. */
    private void work(BfcArena arena, boolean isDivided) {
        final FakeStream stream = new FakeStream();
        if (isDivided) {
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
        }
        final List<Long> live = new ArrayList<>();
        for (int i = 1; i <= 40; i++) {
            try {
                switch (i % 8) {
                    case 0 -> arena.shrink();
                    case 3 -> live.add(arena.reserve(i * 100L));
                    case 4 -> live.add(arena.alloc(i * 500L));
                    case 5, 6 -> {
                        if (!live.isEmpty()) {
                            arena.free(live.remove(i % live.size()));
                        }
                    }
                    default -> live.add(arena.allocOnStream(i * 700L, stream));
                }
            } catch (AllocatorException e) {
                assertThat(e).isInstanceOfAny(DeviceException.class, OutOfMemoryException.class);
            }
            expectTruth(arena);
        }
        live.forEach(arena::free);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aDriverErrorAtEachAllocationInTurn(boolean isDivided) {
        for (int failing = 0; failing < 30; failing++) {
            final int call = failing;
            final int calls = device.allocCalls();
            device.failAllocs(number -> number == calls + call);
            final BfcArena arena = arena(ExtendStrategy.POWER_OF_TWO);
            work(arena, isDivided);
            device.failAllocs(number -> false);
            arena.free(arena.alloc(100_000));
            arena.close();
            device.returnAgain();
            assertThat(device.liveBlocks()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aDriverErrorAtEachFreeInTurn(boolean isDivided) {
        for (int failing = 0; failing < 30; failing++) {
            final int call = failing;
            final int calls = device.freeCalls();
            device.failFrees(number -> number == calls + call);
            final BfcArena arena = arena(ExtendStrategy.POWER_OF_TWO);
            work(arena, isDivided);
            arena.free(arena.alloc(100_000));
            device.failFrees(number -> false);
            arena.close();
            device.returnAgain();
            assertThat(device.liveBlocks()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5_000, 20_000, 50_000, 100_000})
    void aDeviceThatIsSoonExhausted(int capacity) {
        device.capacity(capacity);
        for (final ExtendStrategy strategy : ExtendStrategy.values()) {
            for (final boolean isDivided : List.of(false, true)) {
                final BfcArena arena = arena(strategy);
                work(arena, isDivided);
                arena.close();
                assertThat(device.liveBlocks()).isZero();
            }
        }
    }

    @Test
    void aDriverErrorLeavesTheArenaAsItWas() {
        final BfcArena arena = arena(ExtendStrategy.POWER_OF_TWO);
        arena.alloc(1000);
        final ArenaState before = ArenaState.of(arena);
        device.failAllocs(number -> true);

        assertThatThrownBy(() -> arena.alloc(1_000_000)).isInstanceOf(DeviceException.class);
        assertThatThrownBy(() -> arena.reserve(100)).isInstanceOf(DeviceException.class);

        assertThat(ArenaState.of(arena)).isEqualTo(before);
    }

    @Test
    void aRegionThatTheDeviceDoesNotTakeBackCountsAsHeldAndIsOfferedAgainByAShrink() {
        final BfcArena arena = arena(ExtendStrategy.SAME_AS_REQUESTED);
        final long a = arena.alloc(10 * KIB);
        final long b = arena.alloc(20 * KIB);
        arena.free(a);
        arena.free(b);
        device.failFrees(number -> number == 0);

        assertThat(arena.shrink())
                .isEqualTo(new ShrinkReport(
                        20 * KIB,
                        2,
                        10 * KIB,
                        0,
                        0,
                        List.of(new ShrinkReport.Held(
                                10 * KIB,
                                0,
                                "memory that the device failed to take back; the next shrink tries again"))));

        assertThat(arena.stats().bytesHeld()).isEqualTo(10 * KIB);
        assertThat(arena.stats().freeBytes()).isEqualTo(10 * KIB);
        assertThat(arena.stats().largestFreeChunk()).isZero();
        assertThat(arena.stats().numArenaShrinkages()).isEqualTo(2);
        expectTruth(arena);
        assertThat(arena.shrink()).isEqualTo(new ShrinkReport(10 * KIB, 0, 0, 0, 0));
        expectTruth(arena);
    }

    @Test
    void theCountersOfUnreturnedMemoryArePassedOn() {
        final AllocatorStats.Counter refusals =
                new AllocatorStats.Counter("failedReturns", 3, AllocatorStats.Unit.COUNT, true);
        final AllocatorStats.Counter other = new AllocatorStats.Counter("other", 3, AllocatorStats.Unit.COUNT, true);
        final FakeDevice counting = new FakeDevice() {
            @Override
            public AllocatorStats stats() {
                return new AllocatorStats.Builder()
                        .counters(List.of(other, refusals))
                        .build();
            }
        };
        assertThat(new BfcArena(counting, ArenaConfig.DEFAULT).stats().counters())
                .containsExactly(refusals);
    }

    @Test
    void theFreeOfAReserveTakesEffectAlsoIfTheDeviceFails() {
        final BfcArena arena = arena(ExtendStrategy.POWER_OF_TWO);
        final long reserve = arena.reserve(1000);
        device.failFrees(number -> number == 0);

        arena.free(reserve);

        assertThatThrownBy(() -> arena.free(reserve)).isInstanceOf(InvalidFreeException.class);
        assertThat(arena.stats().bytesInUse()).isZero();
        expectTruth(arena);
        arena.shrink();
        assertThat(device.liveBlocks()).isZero();
        expectTruth(arena);
    }

    @Test
    void memoryThatTheDeviceDidNotTakeBackIsOfferedAgainBeforeARequestFailsForTheLimit() {
        final BfcArena arena = new BfcArena(
                device,
                new ArenaConfig(
                        ExtendStrategy.SAME_AS_REQUESTED, 1, 1, 1, 1, 4096, PlacementPolicy.BEST_FIT, 0, false));
        device.failFrees(number -> number == 0);
        arena.free(arena.reserve(3000));
        assertThat(arena.stats().bytesHeld()).isEqualTo(3000);
        arena.free(arena.reserve(4000));
        assertThat(arena.stats().peakBytesHeld()).isEqualTo(4000);
        device.failFrees(number -> number == 3);
        arena.free(arena.reserve(3000));
        arena.free(arena.alloc(4096));
        expectTruth(arena);
    }

    /** In turn, 100,000 times: what a device refuses once does not pile up. */
    @Test
    void memoryHeldAfterManyRefusalsStaysWithinTheLimit() {
        final BfcArena arena = new BfcArena(
                device,
                new ArenaConfig(
                        ExtendStrategy.SAME_AS_REQUESTED, 1, 1, 1, 1, 1 << 16, PlacementPolicy.BEST_FIT, 0, false));
        device.failFrees(number -> number % 2 == 0);
        for (int i = 0; i < 100_000; i++) {
            arena.free(arena.reserve(1000));
            assertThat(device.liveBytes()).isLessThanOrEqualTo(1 << 16);
        }
        expectTruth(arena);
    }

    @Test
    void aCloseLeavesToTheUpstreamAllocatorWhatItsDeviceDidNotTakeBack() {
        final BfcArena arena = arena(ExtendStrategy.SAME_AS_REQUESTED);
        for (int i = 0; i < 5; i++) {
            arena.alloc(10 * KIB);
        }
        device.failFrees(number -> number == 1 || number == 3);

        arena.close();

        assertThat(device.liveBlocks()).isEqualTo(2);
        assertThat(device.unreturnedBytes()).isEqualTo(20 * KIB);
        assertThat(device.returnAgain()).isEqualTo(20 * KIB);
    }

    @Test
    void aStreamThatCannotBeWaitedForKeepsItsMemory() {
        final BfcArena arena = arena(ExtendStrategy.SAME_AS_REQUESTED);
        final FakeStream stream = new FakeStream();
        arena.free(arena.allocOnStream(10 * KIB, stream));
        final ArenaState before = ArenaState.of(arena);
        stream.before(Faults.on("flush", new DeviceException("injected failure", null)));

        assertThatThrownBy(arena::shrink).isInstanceOf(DeviceException.class);

        assertThat(ArenaState.of(arena)).isEqualTo(before);
        stream.before(Faults.NONE);
        assertThat(arena.shrink().bytesReleased()).isEqualTo(10 * KIB);
    }

    @Test
    void anErrorOfTheDeviceIsPassedOnAsItIs() {
        final FakeDevice broken = new FakeDevice() {
            @Override
            public synchronized long alloc(long byteSize) {
                throw new UnsatisfiedLinkError("simulated");
            }
        };
        final BfcArena arena = new BfcArena(broken, ArenaConfig.DEFAULT);
        final ArenaState before = ArenaState.of(arena);

        assertThatThrownBy(() -> arena.alloc(5 << 20)).isInstanceOf(UnsatisfiedLinkError.class);

        assertThat(ArenaState.of(arena)).isEqualTo(before);
    }

    /** In a JVM of its own, which ends with an exception if a chunk is lost. */
    @ParameterizedTest
    @EnumSource(names = "COMPACT")
    void anExhaustedHeapLosesNothing(PlacementPolicy policy) throws Exception {
        exhaustHeap(policy);
    }

    @ParameterizedTest
    @Tag("thorough")
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "COMPACT")
    void anExhaustedHeapLosesNothingOfRegionsEither(PlacementPolicy policy) throws Exception {
        exhaustHeap(policy);
    }

    private static void exhaustHeap(PlacementPolicy policy) throws Exception {
        OwnJvm.run(HeapExhaustion.class, List.of("-Xmx24m"), policy.name());
    }
}
