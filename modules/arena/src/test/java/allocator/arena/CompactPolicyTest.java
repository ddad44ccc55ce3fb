package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import allocator.arena.compact.PagesWithoutMemory;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.InteriorAddressException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What an arena on pages shares with others: reserves, limit, lanes, statistics, reports and the close. */
@Timeout(120)
class CompactPolicyTest {
    private static final long PAGE = 1 << 16;

    private final FakeDevice device = new FakeDevice();
    private BfcArena arena = create(0, 0);

    /** Creates an arena that holds as few pages as it can, each an extent of its own. */
    private BfcArena create(long maxPages, int maxLanes) {
        return create(maxPages, maxLanes, Integer.MAX_VALUE);
    }

    /** Creates an arena whose extents are at most a part of what is in use. */
    private BfcArena create(long maxPages, int maxLanes, int extentDivisor) {
        return AllocatedPages.arena(
                device,
                new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        1,
                        1,
                        1,
                        1,
                        maxPages * PAGE,
                        PlacementPolicy.COMPACT,
                        0,
                        maxLanes,
                        true,
                        new CompactConfig(0, 0, extentDivisor, 1, 0),
                        ArenaPlans.NONE));
    }

    private BfcArena limited(long pages) {
        return create(pages, 0);
    }

    private long counter(String name) {
        return arena.stats().counter(name).orElseThrow().value();
    }

    @Test
    void onlyCompactNeedsPages() {
        final ArenaConfig compact = ArenaConfig.DEFAULT.withPlacementPolicy(PlacementPolicy.COMPACT);
        assertThatIllegalArgumentException().isThrownBy(() -> new BfcArena(device, compact));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> BfcArena.onPages(device, new PagesWithoutMemory(device.info()), ArenaConfig.DEFAULT));
    }

    @Nested
    class Reserves {
        @Test
        void aReserveLiesOutsideThePages() {
            final long block = arena.alloc(100);
            final long reserve = arena.reserve(1000);

            assertThat(device.requestedSizes()).endsWith(1000L);
            assertThat(arena.stats().bytesHeld()).isEqualTo(counter("PhysicalBytes") + 1000);
            assertThat(arena.stats().numReserves()).isOne();
            arena.free(reserve);
            arena.free(block);
            assertThat(arena.stats().bytesInUse()).isZero();
            assertThat(device.liveBytes()).isEqualTo(counter("PhysicalBytes"));
        }

        /** What is reserved is no reason to keep pages. */
        @Test
        void reservesDoNotCountAsWhatPagesAreFor() {
            final long weights = arena.reserve(1000 * PAGE);
            final long[] blocks = new long[20];
            for (int i = 0; i < blocks.length; i++) {
                blocks[i] = arena.alloc(PAGE);
            }
            for (int i = 0; i < blocks.length; i += 2) {
                arena.free(blocks[i]);
            }
            final long before = counter("PhysicalBytes");
            final long large = arena.alloc(8 * PAGE);

            assertThat(counter("PhysicalBytes")).isEqualTo(before);
            arena.free(large);
            arena.free(weights);
        }

        @Test
        void idlePagesMakeRoomForAReserve() {
            arena = limited(4);
            arena.free(arena.alloc(4 * PAGE));
            assertThat(arena.stats().bytesHeld()).isEqualTo(4 * PAGE);

            arena.free(arena.reserve(3 * PAGE));
            assertThat(arena.stats().numFailedAllocs()).isZero();
        }
    }

    @Nested
    class Failures {
        @Test
        void aRequestBeyondTheLimitNamesIt() {
            arena = limited(4);
            final long block = arena.alloc(2 * PAGE);
            assertThatExceptionOfType(OutOfMemoryException.class)
                    .isThrownBy(() -> arena.alloc(3 * PAGE))
                    .satisfies(failure -> {
                        assertThat(failure.shortage().limit()).isEqualTo(4 * PAGE);
                        assertThat(failure.shortage().requested()).isEqualTo(3 * PAGE);
                        assertThat(failure.shortage().inUse()).isEqualTo(2 * PAGE);
                    });
            assertThat(arena.stats().numFailedAllocs()).isOne();
            arena.free(block);
            arena.free(arena.alloc(3 * PAGE));
        }

        @Test
        void invalidFreesAreDiagnosed() {
            final long block = arena.alloc(1000);
            assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> arena.free(block + 256));
            arena.free(block);
            assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> arena.free(block));
        }
    }

    @Nested
    class Shrinks {
        @Test
        void theReportAccountsForEachByte() {
            final long reserve = arena.reserve(1000);
            final long small = arena.alloc(256);
            arena.free(arena.alloc(10 * PAGE));

            final ShrinkReport report = arena.shrink();

            assertThat(report.bytesHeld()).isEqualTo(PAGE + 1000).isEqualTo(device.liveBytes());
            assertThat(report.held()).extracting(ShrinkReport.Held::bytes).containsExactly(PAGE, 1000L);
            assertThat(report.held().getFirst().reason()).isEqualTo("pages with live blocks");
            arena.free(small);
            arena.free(reserve);
            assertThat(arena.shrink().bytesHeld()).isZero();
        }
    }

    @Nested
    class OfSeveralLanes {
        private final FakeStream first = new FakeStream();
        private final FakeStream second = new FakeStream();

        @Test
        void idleExtentsOfOtherLanesServeBeforeMoreAreCreated() {
            arena = create(0, 3);
            arena.free(arena.alloc(10 * PAGE));
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
            final long block = arena.allocOnStream(8 * PAGE, first);

            assertThat(arena.stats().peakBytesHeld()).isEqualTo(10 * PAGE).isEqualTo(device.liveBytes());
            assertThat(counter("NumExtents")).isEqualTo(10);
            arena.checkConsistency();
            arena.free(block);
            arena.endRun(first);
            assertThat(arena.shrink().bytesHeld()).isZero();
            arena.close();
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void aNewLaneIsServedByWhicheverLaneHasIdleExtents() {
            arena = create(0, 3);
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(second));
            arena.free(arena.allocOnStream(10 * PAGE, first));
            arena.endRun(first);
            assertThat(counter("NumExtents")).isEqualTo(10);

            arena.free(arena.allocOnStream(8 * PAGE, second)); // the main lane, which is asked first, has none
            assertThat(counter("NumExtents")).isEqualTo(10);
        }

        /** The main lane is not new, so it leaves the other one what that has needed in the same second. */
        @Test
        void aLaneKeepsWhatItHasNeededLately() {
            arena = create(0, 3);
            arena.free(arena.alloc(PAGE));
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
            arena.free(arena.allocOnStream(10 * PAGE, first));
            arena.endRun(first);
            assertThat(counter("NumExtents")).isEqualTo(10);

            arena.free(arena.alloc(8 * PAGE));
            assertThat(counter("NumExtents")).isEqualTo(18);
            assertThat(counter("NumPageUnmaps")).isOne();
        }

        /** What it needs is the most in use in two periods of a second, each of which ends when memory is asked for. */
        @Test
        void aLaneLosesWhatItHasNotNeededForTwoPeriods() throws InterruptedException {
            arena = create(0, 3);
            arena.free(arena.alloc(PAGE));
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
            arena.free(arena.allocOnStream(10 * PAGE, first));
            arena.endRun(first);
            for (int pages = 2; pages <= 3; pages++) {
                Thread.sleep(1100);
                arena.free(arena.alloc(pages * PAGE));
            }
            assertThat(counter("NumExtents")).isEqualTo(11 + 1);

            arena.free(arena.alloc(11 * PAGE));
            assertThat(counter("NumExtents")).isEqualTo(11 + 1);
        }

        @Test
        void anExtentWithMorePagesThanAreLackedStaysInItsLane() {
            arena = create(0, 3, 1);
            arena.free(arena.alloc(10 * PAGE));
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
            final long block = arena.allocOnStream(4 * PAGE, first);
            assertThat(arena.stats().bytesHeld()).isEqualTo((10 + 4) * PAGE);
            arena.free(block);
            arena.endRun(first);

            arena.lanes.choice.leaveMainLane(LaneChoice.requester(second));
            arena.free(arena.allocOnStream(12 * PAGE, second));
            assertThat(arena.stats().bytesHeld())
                    .as("the extent of ten pages, then that of four, of which two are lacked")
                    .isEqualTo((10 + 4 + 2) * PAGE);
        }

        @Test
        void whatAStreamMayStillUseStaysInItsLane() {
            arena = create(0, 3);
            arena.free(arena.allocOnStream(10 * PAGE, first));
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(second));
            arena.free(arena.allocOnStream(4 * PAGE, second));
            assertThat(counter("NumExtents")).isEqualTo(14);

            arena.endRun(first);
            arena.free(arena.allocOnStream(8 * PAGE, second));
            assertThat(counter("NumExtents")).isEqualTo(14);
        }

        @Test
        void lanesHaveRangesOfTheirOwn() {
            arena = create(0, 3);
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(second));
            final long a = arena.allocOnStream(3 * PAGE, first);
            final long b = arena.allocOnStream(2 * PAGE, second);
            final long c = arena.alloc(PAGE);
            assertThat(arena.laneCount()).isEqualTo(3);

            final AllocatorStats stats = arena.stats();
            assertThat(stats.bytesHeld()).isEqualTo(counter("PhysicalBytes")).isEqualTo(device.liveBytes());
            assertThat(stats.bytesInUse()).isEqualTo(6 * PAGE);
            arena.free(b);
            arena.free(a);
            arena.checkConsistency();
            assertThat(arena.stats().bytesInUse()).isEqualTo(PAGE);
            arena.endRun(first);
            arena.endRun(second);
            assertThat(arena.shrink().bytesHeld()).isEqualTo(PAGE);
            arena.free(c);
            arena.close();
            assertThat(device.liveBytes()).isZero();
        }

        @Test
        void idlePagesOfOtherLanesMakeRoomUnderTheLimit() {
            arena = create(4, 2);
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
            arena.free(arena.alloc(4 * PAGE));

            arena.free(arena.allocOnStream(4 * PAGE, first));
            assertThat(arena.stats().numFailedAllocs()).isZero();
            assertThat(arena.stats().peakBytesHeld()).isEqualTo(4 * PAGE);
        }

        /** While a request waits for the streams of another lane, that one uses three pages, one at a time. */
        @Test
        void aRequestIsRepeatedAsOthersUseWhatItHasWaitedFor() {
            divideTheLimit(1);
            arena.free(arena.alloc(6 * PAGE));
            assertThat(arena.stats().numFailedAllocs()).isZero();
        }

        @Test
        void aReserveIsRepeatedAsOthersUseWhatItHasWaitedFor() {
            divideTheLimit(0);
            arena.free(arena.reserve(7 * PAGE));
            assertThat(arena.stats().numFailedAllocs()).isZero();
        }

        /**
         * Of eight pages, two lanes have three each, and the streams of one go on when they are waited for.
         *
         * @param few how many times one of them does so alone
         */
        private void divideTheLimit(int few) {
            arena = create(8, 2);
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
            final FakeStream third = new FakeStream();
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(second));
            arena.lanes.choice.leaveMainLane(LaneChoice.requester(third));
            arena.free(arena.alloc(3 * PAGE));
            arena.free(arena.allocOnStream(3 * PAGE, first));
            final int[] flushes = new int[1];
            first.before(call -> {
                if (call.equals("flush") && ++flushes[0] < few + 3) {
                    elsewhere(() -> {
                        arena.free(arena.allocOnStream(PAGE, first));
                        if (flushes[0] > few) {
                            arena.free(arena.allocOnStream(PAGE, second));
                            arena.free(arena.allocOnStream(PAGE, third));
                        }
                    });
                }
            });
        }

        private static void elsewhere(Runnable work) {
            CompletableFuture.runAsync(work).orTimeout(20, TimeUnit.SECONDS).join();
        }
    }

    @Test
    void aCloseReturnsLiveMemoryAndReportsIt() {
        arena.alloc(1000);
        arena.reserve(500);

        final CloseReport report = arena.close();

        assertThat(report).isEqualTo(new CloseReport(2, 1500, PAGE + 500));
        assertThat(device.liveBytes()).isZero();
        assertThatExceptionOfType(AllocatorClosedException.class).isThrownBy(() -> arena.alloc(1));
        arena.close();
    }

    @Test
    void aSnapshotHasTheChunksOfTheRange() {
        final long block = arena.alloc(1000);
        final ArenaSnapshot snapshot = arena.snapshot();
        assertThat(snapshot.regions()).hasSize(1);
        assertThat(snapshot.regions().getFirst().chunks().stream().filter(chunk -> !chunk.isFree()))
                .extracting(ArenaSnapshot.Chunk::address)
                .containsExactly(block);
    }
}
