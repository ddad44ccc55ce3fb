package allocator.arena.plan;

import static allocator.arena.plan.Plans.call;
import static allocator.arena.plan.Plans.counter;
import static allocator.arena.plan.Plans.plan;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** An allocator that follows plans, over an arena. */
// One class, since its groups share the plan and the device.
class PlannedAllocatorTest {
    private static final long GRANULE = 256;
    private static final long MIB = 1 << 20;

    /** The third block lies where the first one was. */
    private static final PlannedCalls PLAN = plan("a", call(10, 0), call(20, 10), call(8, 0), call(4, 30));

    private static final long HEIGHT = 34 * GRANULE;

    private final FakeDevice device = new FakeDevice();

    private PlannedAllocator arena(long maxMem, PlannedCalls... plans) {
        return Plans.over(device, maxMem, plans);
    }

    private static List<Long> counters(PlannedAllocator arena) {
        return List.of(
                counter(arena, "PlannedAllocs"),
                counter(arena, "PlanRuns"),
                counter(arena, "PlanMismatches"),
                counter(arena, "PlanBusyAllocs"));
    }

    /** Makes the calls of the plan; returns the offsets of the blocks from the first one. */
    private static long[] run(PlannedAllocator arena) {
        final long first = arena.alloc(10 * GRANULE);
        final long second = arena.alloc(20 * GRANULE);
        arena.free(first);
        final long third = arena.alloc(8 * GRANULE);
        final long fourth = arena.alloc(4 * GRANULE);
        arena.free(second);
        arena.free(fourth);
        arena.free(third);
        return new long[] {0, second - first, third - first, fourth - first};
    }

    @Nested
    class Following {
        @Test
        void blocksLieWhereThePlanHasThem() {
            final PlannedAllocator arena = arena(0, PLAN);
            assertThat(device.allocCalls()).isZero();
            for (int i = 0; i < 3; i++) {
                assertThat(run(arena)).containsExactly(0, 10 * GRANULE, 0, 30 * GRANULE);
            }
            assertThat(device.requestedSizes()).containsExactly(HEIGHT);
            assertThat(arena.stats().bytesHeld()).isEqualTo(HEIGHT);
            assertThat(arena.stats().peakBytesInUse()).isEqualTo(HEIGHT);
            assertThat(counters(arena)).containsExactly(12L, 3L, 0L, 0L);
        }

        @Test
        void aSizeIsRoundedUpBeforeItIsCompared() {
            final PlannedAllocator arena = arena(0, PLAN);
            final long block = arena.alloc(9 * GRANULE + 1);
            assertThat(counter(arena, "PlannedAllocs")).isOne();
            assertThat(Plans.block(arena, block).requestedBytes()).isEqualTo(9 * GRANULE + 1);
            assertThat(Plans.block(arena, block).byteSize()).isEqualTo(10 * GRANULE);
            assertThat(arena.stats().requestedBytesInUse()).isEqualTo(9 * GRANULE + 1);
        }

        @Test
        void memoryWhoseFreeEndsWithTheJavaHeapIsFreedByTheNextShrinkOrClose() {
            final boolean[] hasHeap = {false};
            final FakeDevice upstream = new FakeDevice() {
                @Override
                public synchronized void free(long address) {
                    if (!hasHeap[0]) {
                        throw new OutOfMemoryError("injected; nothing has changed");
                    }
                    super.free(address);
                }
            };
            final PlannedAllocator planned = new PlannedAllocator(upstream, Plans.of(PLAN));
            run(planned);
            assertThatThrownBy(planned::shrink).isInstanceOf(OutOfMemoryError.class);
            assertThat(run(planned)).containsExactly(0, 10 * GRANULE, 0, 30 * GRANULE);
            assertThat(upstream.liveBlocks()).isOne();
            hasHeap[0] = true;
            planned.shrink();
            assertThat(upstream.liveBlocks()).isZero();

            run(planned);
            hasHeap[0] = false;
            assertThatThrownBy(planned::close).isInstanceOf(OutOfMemoryError.class);
            hasHeap[0] = true;
            planned.close();
            assertThat(upstream.liveBlocks()).isZero();
        }

        @Test
        void emptyAllocationsAreNoCalls() {
            final PlannedAllocator arena = arena(0, PLAN);
            arena.alloc(10 * GRANULE);
            assertThat(arena.alloc(0)).isZero();
            arena.alloc(20 * GRANULE);
            assertThat(counters(arena)).containsExactly(2L, 1L, 0L, 0L);
        }

        @Test
        void aBlockWhoseBytesAreInUseComesFromTheArenaAlone() {
            final PlannedAllocator arena = arena(0, PLAN);
            final long first = arena.alloc(10 * GRANULE);
            arena.alloc(20 * GRANULE);
            final long third = arena.alloc(8 * GRANULE); // the first one is live
            assertThat(third).isNotEqualTo(first);
            arena.alloc(4 * GRANULE);
            assertThat(counters(arena)).containsExactly(3L, 1L, 0L, 1L);
        }

        @Test
        void whatLaysOverABlockThatWasLeftOutIsComparedWithAll() {
            final PlannedAllocator arena = arena(0, plan("a", call(10, 0), call(8, 0), call(6, 0)));
            final long first = arena.alloc(10 * GRANULE);
            arena.alloc(8 * GRANULE);
            arena.alloc(6 * GRANULE);
            assertThat(counters(arena)).containsExactly(1L, 1L, 0L, 2L);
            assertThat(arena.stats().bytesInUse()).isEqualTo(24 * GRANULE);
            arena.free(first);
        }

        @Test
        void aRunBesideBlocksOfAnEarlierOneDoesNotTouchThem() {
            final PlannedAllocator arena = arena(0, PLAN);
            final long first = arena.alloc(10 * GRANULE);
            arena.free(arena.alloc(20 * GRANULE));
            arena.endRun(new FakeStream());
            final long again = arena.alloc(10 * GRANULE); // begins a run; the first block is still live
            assertThat(again).isNotEqualTo(first);
            assertThat(arena.alloc(20 * GRANULE)).isEqualTo(first + 10 * GRANULE);
            arena.free(first);
            assertThat(arena.alloc(8 * GRANULE)).isEqualTo(first);
            assertThat(counters(arena)).containsExactly(4L, 2L, 0L, 1L);
        }
    }

    @Nested
    class Mismatches {
        @Test
        void theRestOfTheRunComesFromTheArena() {
            final PlannedAllocator arena = arena(0, PLAN);
            final long first = arena.alloc(10 * GRANULE);
            final long other = arena.alloc(19 * GRANULE);
            final long third = arena.alloc(8 * GRANULE);
            assertThat(counters(arena)).containsExactly(1L, 1L, 1L, 0L);
            assertThat(device.requestedSizes()).containsExactly(HEIGHT, MIB);
            List.of(first, other, third).forEach(arena::free);
            run(arena);
            assertThat(counters(arena)).containsExactly(5L, 2L, 1L, 0L);
        }

        @Test
        void aRunWithoutAnyPlanTakesNoMemoryForPlans() {
            final PlannedAllocator arena = arena(0, PLAN);
            arena.alloc(GRANULE);
            assertThat(device.requestedSizes()).containsExactly(MIB);
            assertThat(counters(arena)).containsExactly(0L, 0L, 1L, 0L);
        }

        @Test
        void aRunThatIsLongerThanThePlanIsAMismatch() {
            final PlannedAllocator arena = arena(0, plan("a", call(10, 0)));
            final long first = arena.alloc(10 * GRANULE);
            arena.alloc(5 * GRANULE);
            assertThat(counters(arena)).containsExactly(1L, 1L, 1L, 0L);
            arena.free(first);
        }

        @Test
        void theNextRunBeginsAfterTheEndOfAStreamsRun() {
            final PlannedAllocator arena = arena(0, PLAN);
            final FakeStream stream = new FakeStream();
            final long stays = arena.allocOnStream(10 * GRANULE, stream);
            arena.allocOnStream(GRANULE, stream);
            arena.endRun(stream);
            arena.allocOnStream(10 * GRANULE, stream);
            assertThat(arena.allocOnStream(20 * GRANULE, stream)).isEqualTo(stays + 10 * GRANULE);
            assertThat(counters(arena)).containsExactly(2L, 2L, 1L, 1L);
        }

        @Test
        void aRunBeginsWhereNoMoreIsInUseThanBefore() {
            final PlannedAllocator arena = arena(0, PLAN);
            arena.alloc(3 * GRANULE); // stays
            for (int i = 0; i < 3; i++) {
                run(arena);
            }
            assertThat(counter(arena, "PlanRuns")).isGreaterThanOrEqualTo(2);
            assertThat(counter(arena, "PlannedAllocs")).isGreaterThanOrEqualTo(8);
            assertThat(counter(arena, "PlanMismatches")).isOne();
        }

        @Test
        void aRunThatEndsEarlyIsNoMismatch() {
            final PlannedAllocator arena = arena(0, PLAN);
            arena.free(arena.alloc(10 * GRANULE));
            run(arena);
            assertThat(counters(arena)).containsExactly(5L, 2L, 0L, 0L);
        }
    }

    @Nested
    class SeveralPlans {
        private final PlannedCalls longer = plan("b", call(10, 2), call(30, 12), call(8, 0));

        @Test
        void theSizesDecideWhichOneIsFollowed() {
            final PlannedAllocator arena = arena(0, PLAN, longer);
            final long first = arena.alloc(10 * GRANULE);
            final long second = arena.alloc(30 * GRANULE);
            assertThat(second - first).isEqualTo(12 * GRANULE);
            arena.free(first);
            arena.free(second);
            assertThat(device.requestedSizes()).containsExactly(42 * GRANULE);
            final long again = arena.alloc(10 * GRANULE);
            assertThat(arena.alloc(30 * GRANULE) - again).isEqualTo(10 * GRANULE);
            assertThat(counters(arena)).containsExactly(4L, 2L, 0L, 0L);
        }

        @Test
        void blocksOfTheOtherPlanAreNotTouched() {
            final PlannedAllocator arena =
                    arena(0, plan("a", call(10, 0), call(2, 10)), plan("b", call(10, 20), call(4, 8)));
            final long first = arena.alloc(10 * GRANULE);
            final long second = arena.alloc(4 * GRANULE); // would overlap the first
            assertThat(Math.abs(second - first)).isGreaterThanOrEqualTo(10 * GRANULE);
            assertThat(counters(arena)).containsExactly(1L, 1L, 0L, 1L);
        }
    }

    @Nested
    class Streams {
        private final FakeStream one = new FakeStream();
        private final FakeStream other = new FakeStream();
        private final PlannedCalls shared = plan("a", call(10, 0), call(8, 0));

        private long allocate(PlannedAllocator arena, long granules, SyncStream stream) {
            return arena.allocOnStream(granules * GRANULE, stream);
        }

        @Test
        void memoryPassesToTheSameStreamAtOnce() {
            final PlannedAllocator arena = arena(0, shared);
            arena.free(allocate(arena, 10, one));
            allocate(arena, 8, one);
            assertThat(counters(arena)).containsExactly(2L, 1L, 0L, 0L);
        }

        @Test
        void memoryDoesNotPassToAStreamThatIsNotBehind() {
            final PlannedAllocator arena = arena(0, shared);
            arena.free(allocate(arena, 10, one));
            allocate(arena, 8, other);
            assertThat(counters(arena)).containsExactly(1L, 1L, 0L, 1L);
        }

        @Test
        void memoryOfARunThatHasNotEndedDoesNotPassToAStreamThatHasWaited() {
            final PlannedAllocator arena = arena(0, shared);
            arena.free(allocate(arena, 10, one));
            one.notifyAndWait(other);
            allocate(arena, 8, other);
            assertThat(counters(arena)).containsExactly(1L, 1L, 0L, 1L);
        }

        @Test
        void anEarlierRunsMemoryDoesNotPassEither() {
            final PlannedAllocator arena = arena(0, shared);
            arena.free(allocate(arena, 10, one));
            arena.free(allocate(arena, 8, one));
            allocate(arena, 10, other);
            assertThat(counters(arena)).containsExactly(2L, 2L, 0L, 1L);
        }

        @Test
        void theEndOfARunPassesMemoryToAll() {
            final PlannedAllocator arena = arena(0, shared);
            arena.free(allocate(arena, 10, one));
            arena.free(allocate(arena, 8, one));
            arena.endRun(one);
            arena.free(allocate(arena, 10, other));
            arena.free(arena.alloc(8 * GRANULE)); // no stream
            assertThat(counters(arena)).containsExactly(3L, 2L, 0L, 1L);
        }

        @Test
        void aReleasedStreamsMemoryIsForAll() {
            final PlannedAllocator arena = arena(0, shared);
            final long block = allocate(arena, 10, one);
            arena.releaseStream(one);
            arena.free(block);
            arena.alloc(8 * GRANULE);
            assertThat(counters(arena)).containsExactly(2L, 1L, 0L, 0L);
        }

        @Test
        void streamsInMemoryOfTheirOwnDoNotWait() {
            final PlannedAllocator arena = arena(0, plan("a", call(10, 0), call(8, 10)));
            for (int i = 0; i < 3; i++) {
                final long first = allocate(arena, 10, one);
                final long second = allocate(arena, 8, other);
                arena.free(first);
                arena.free(second);
            }
            assertThat(counters(arena)).containsExactly(6L, 3L, 0L, 0L);
        }

        @Test
        void eachOfManyStreamsIsServedAfterTheRunOfTheOneBefore() {
            final PlannedAllocator arena = arena(0, plan("a", call(10, 0)));
            for (int i = 0; i < 100; i++) {
                final FakeStream stream = new FakeStream();
                final long block = allocate(arena, 10, stream);
                arena.free(block);
                arena.endRun(stream);
            }
            assertThat(counter(arena, "PlannedAllocs")).isEqualTo(100);
        }
    }

    @Nested
    class Memory {
        @Test
        void aShrinkReturnsItIfNothingInItIsLive() {
            final PlannedAllocator arena = arena(0, PLAN);
            run(arena);
            assertThat(arena.shrink().bytesReleased()).isEqualTo(HEIGHT);
            assertThat(device.liveBytes()).isZero();
            run(arena);
            assertThat(device.liveBytes()).isEqualTo(HEIGHT);
            assertThat(counters(arena)).containsExactly(8L, 2L, 0L, 0L);
        }

        @Test
        void aShrinkKeepsItWhileABlockIsLive() {
            final PlannedAllocator arena = arena(0, PLAN);
            final long block = arena.alloc(10 * GRANULE);
            final ShrinkReport report = arena.shrink();
            assertThat(report.bytesReleased()).isZero();
            assertThat(report.held())
                    .containsExactly(new ShrinkReport.Held(HEIGHT, 0, "the memory of plans, in which blocks are live"));
            arena.free(block);
            assertThat(arena.shrink().bytesReleased()).isEqualTo(HEIGHT);
        }

        @Test
        void aShrinkWaitsForTheStreamsThatUseIt() {
            final PlannedAllocator arena = arena(0, PLAN);
            final FakeStream stream = new FakeStream();
            arena.free(arena.allocOnStream(10 * GRANULE, stream));
            assertThat(arena.shrink().bytesReleased()).isEqualTo(HEIGHT);
            assertThat(stream.flushes()).isOne();
        }

        @Test
        void aStreamThatFailsKeepsIt() {
            final PlannedAllocator arena = arena(0, PLAN);
            final FakeStream stream = new FakeStream();
            arena.free(arena.allocOnStream(10 * GRANULE, stream));
            stream.before(operation -> {
                throw new DeviceException("injected", null);
            });
            assertThatThrownBy(arena::shrink).hasMessage("injected");
            assertThat(arena.stats().bytesHeld()).isEqualTo(HEIGHT).isEqualTo(device.liveBytes());
            stream.before(operation -> {});
            assertThat(arena.shrink().bytesReleased()).isEqualTo(HEIGHT);
        }

        @Test
        void aCloseReturnsIt() {
            final PlannedAllocator arena = arena(0, PLAN);
            arena.alloc(9 * GRANULE + 5);
            Plans.destroy(arena);
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void itCountsAgainstTheLimit() {
            final PlannedAllocator arena = arena(HEIGHT + 10 * GRANULE, PLAN);
            final long block = arena.alloc(10 * GRANULE);
            assertThat(arena.stats().bytesHeld()).isEqualTo(HEIGHT);
            final long reserve = arena.reserve(10 * GRANULE);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> arena.reserve(GRANULE))
                    .satisfies(e -> assertThat(e.shortage().held()).isEqualTo(HEIGHT + 10 * GRANULE));
            assertThat(arena.stats().numFailedAllocs()).isOne();
            arena.free(block);
            arena.free(reserve);
        }

        @Test
        void aRequestThatNeedsItGetsIt() {
            final PlannedAllocator arena = arena(HEIGHT, PLAN);
            run(arena);
            final long all = arena.alloc(HEIGHT);
            assertThat(arena.stats().bytesHeld()).isEqualTo(HEIGHT);
            arena.free(all);
            arena.shrink();
            run(arena);
            final long reserve = arena.reserve(HEIGHT);
            arena.free(reserve);
            assertThat(arena.stats().numFailedAllocs()).isZero();
        }

        @Test
        void withoutRoomForItTheArenaServes() {
            final PlannedAllocator arena = arena(HEIGHT + GRANULE, PLAN);
            final long reserve = arena.reserve(2 * GRANULE);
            final long block = arena.alloc(10 * GRANULE);
            assertThat(counters(arena)).containsExactly(0L, 1L, 0L, 0L);
            arena.free(block);
            arena.free(reserve);
            arena.shrink();
            run(arena);
            assertThat(device.liveBytes()).isEqualTo(HEIGHT);
        }

        @Test
        void aDeviceWithoutRoomForItLetsTheArenaServe() {
            final PlannedAllocator arena = arena(0, PLAN);
            device.capacity(20 * GRANULE);
            final long block = arena.alloc(10 * GRANULE);
            assertThat(counters(arena)).containsExactly(0L, 1L, 0L, 0L);
            assertThat(arena.stats().numFailedAllocs()).isZero();
            arena.free(block);
        }
    }

    @Nested
    class OverOthers {
        @Test
        void theReserveIsTheWrappedAllocatorsAndGoesBackThere() {
            final PlannedAllocator allocator = new PlannedAllocator(device, Plans.of(PLAN));
            final long block = allocator.alloc(10 * GRANULE);
            final long other = allocator.alloc(GRANULE);
            assertThat(device.requestedSizes()).containsExactly(HEIGHT, GRANULE);
            allocator.free(other);
            allocator.free(block);
            assertThat(allocator.shrink().bytesReleased()).isEqualTo(HEIGHT);
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void aCloseReturnsMemoryInWhichBlocksAreLiveAndLaterCallsAreTheWrappedAllocators() {
            final PlannedAllocator allocator = new PlannedAllocator(device, Plans.of(PLAN));
            allocator.alloc(10 * GRANULE);
            allocator.close();
            allocator.close();
            assertThat(device.liveBytes()).isZero();
            allocator.free(allocator.alloc(10 * GRANULE));
            assertThat(device.requestedSizes()).containsExactly(HEIGHT, 10 * GRANULE);
        }

        @Test
        void aDeviceThatFailsHasItsFailureThrownAndIsAskedAgain() {
            final FakeDevice failing = new FakeDevice() {
                private boolean hasFailed;

                @Override
                public synchronized long alloc(long byteSize) {
                    if (!hasFailed) {
                        hasFailed = true;
                        throw new DeviceException("injected", null);
                    }
                    return super.alloc(byteSize);
                }
            };
            final PlannedAllocator arena = Plans.over(failing, 0, PLAN);
            assertThatThrownBy(() -> arena.alloc(10 * GRANULE)).hasMessage("injected");
            run(arena);
            assertThat(counter(arena, "PlannedAllocs")).isEqualTo(4);
        }

        @Test
        void aChangeThatEndsHalfWayBreaksThePlanAndNoBlock() {
            final PlannedMemory memory = new PlannedMemory(Plans.of(PLAN).table(), device.info());
            memory.attach(MIB);
            final long block = memory.take(10 * GRANULE, null);
            memory.close(); // as a change leaves it that has not ended
            assertThat(memory.take(20 * GRANULE, null)).isEqualTo(PlannedMemory.NO_ADDRESS);
            memory.free(block);
            memory.free(block);
            assertThat(memory.isIdle()).isFalse();
            assertThat(memory.base()).isEqualTo(MIB);
        }
    }

    @Nested
    class InvalidFrees {
        private final PlannedAllocator arena = arena(0, PLAN);
        private final long block = arena.alloc(10 * GRANULE);

        private void rejects(long address, Class<? extends InvalidFreeException> type) {
            final AllocatorSnapshot before = arena.inspect();
            assertThatThrownBy(() -> arena.free(address)).isInstanceOf(type);
            assertThat(arena.inspect()).isEqualTo(before);
        }

        @Test
        void eachKindIsDiagnosed() {
            rejects(block + 1, InteriorAddressException.class);
            rejects(block + GRANULE, InteriorAddressException.class);
            rejects(block + 12 * GRANULE + 1, ForeignAddressException.class);
            arena.free(block);
            rejects(block, DoubleFreeException.class);
            arena.shrink();
            rejects(block, ForeignAddressException.class);
        }
    }

    @Nested
    class Description {
        @Test
        void anInspectionListsBlocksAndWhatWaits() {
            final PlannedAllocator arena = arena(0, PLAN);
            final FakeStream stream = new FakeStream();
            final long first = arena.allocOnStream(10 * GRANULE, stream);
            arena.allocOnStream(20 * GRANULE, stream);
            arena.free(first);
            arena.allocOnStream(8 * GRANULE, stream);
            final AllocatorSnapshot.Region region = arena.inspect().regions().getFirst();
            assertThat(region.chunks())
                    .extracting(chunk -> chunk.byteSize() / GRANULE, AllocatorSnapshot.Chunk::state)
                    .containsExactly(
                            tuple(8L, State.LIVE),
                            tuple(2L, State.WAITING),
                            tuple(20L, State.LIVE),
                            tuple(4L, State.FREE));
            assertThat(arena.inspect().blocks()).isEmpty();
        }
    }

    @Test
    void threadsThatInterleaveNeverShareMemory() throws Exception {
        final PlannedAllocator arena = arena(0, PLAN);
        final int threads = 4;
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            final List<Callable<Void>> work = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                work.add(() -> {
                    for (int round = 0; round < 2000; round++) {
                        final long[] blocks = Arrays.stream(PLAN.byteSizes())
                                .map(arena::alloc)
                                .toArray();
                        for (final long block : blocks) {
                            arena.free(block);
                        }
                        if (round % 100 == 0) {
                            arena.shrink();
                        }
                    }
                    return null;
                });
            }
            for (final Future<Void> done : pool.invokeAll(work)) {
                done.get();
            }
        }
        assertThat(arena.stats().bytesInUse()).isZero();
        Plans.destroy(arena);
        assertThat(device.liveBytes()).isZero();
    }
}
