package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.AllocatorStats;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the lanes of an arena on pages take over from one another, and how they share a limit. */
@Timeout(120)
class CompactLanesTest {
    private static final long PAGE = AllocatedPages.PAGE_BYTES;

    private final FakeDevice device = new FakeDevice();
    private BfcArena arena = AllocatedPages.compact(device, 0, 0);
    private final FakeStream first = new FakeStream();
    private final FakeStream second = new FakeStream();

    @Test
    void idleExtentsOfOtherLanesServeBeforeMoreAreCreated() {
        arena = AllocatedPages.compact(device, 0, 3);
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
        arena = AllocatedPages.compact(device, 0, 3);
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
        arena = AllocatedPages.compact(device, 0, 3);
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
        arena = AllocatedPages.compact(device, 0, 3);
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
    void anExtentWithMorePagesThanAreLackedIsTakenOverWhereThereIsSpace() {
        arena = AllocatedPages.compact(device, 0, 3, 1);
        arena.free(arena.alloc(10 * PAGE));
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
        final long block = arena.allocOnStream(4 * PAGE, first);
        assertThat(counter("NumExtents")).isOne();
        assertThat(arena.stats().bytesHeld()).isEqualTo(10 * PAGE);
        arena.free(block);
        arena.endRun(first);

        arena.lanes.choice.leaveMainLane(LaneChoice.requester(second));
        arena.free(arena.allocOnStream(12 * PAGE, second));
        assertThat(arena.stats().peakBytesHeld())
                .as("the extent of ten pages, and one for what is lacking")
                .isEqualTo((10 + 2) * PAGE);
    }

    @Test
    void anExtentThatFitsNowhereIsReleasedBeforeOneIsCreated() {
        arena = AllocatedPages.compact(device, 0, 3, 1);
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
        final long gap = arena.allocOnStream(4 * PAGE, first);
        final long behind = arena.allocOnStream(PAGE, first);
        arena.free(gap);
        arena.endRun(first);
        arena.shrink();
        arena.free(arena.alloc(10 * PAGE));

        final long block = arena.allocOnStream(4 * PAGE, first);
        assertThat(block).as("between others").isEqualTo(gap);
        assertThat(arena.stats().bytesHeld()).isEqualTo((1 + 4) * PAGE).isEqualTo(device.liveBytes());
        arena.checkConsistency();
        arena.free(block);
        arena.free(behind);
    }

    /** The extent of ten pages that is released makes room for more than one that is created. */
    @Test
    void noMoreIsReleasedThanIsCreated() {
        arena = AllocatedPages.compact(device, 0, 3, 1);
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
        final long[] gaps = new long[2];
        final long[] between = new long[2];
        for (int i = 0; i < gaps.length; i++) {
            gaps[i] = arena.allocOnStream(4 * PAGE, first);
            between[i] = arena.allocOnStream(PAGE, first);
        }
        arena.free(gaps[0]);
        arena.free(gaps[1]);
        arena.endRun(first);
        arena.shrink();
        final long large = arena.alloc(10 * PAGE);
        arena.free(arena.alloc(10 * PAGE));
        arena.free(large);

        gaps[0] = arena.allocOnStream(4 * PAGE, first);
        gaps[1] = arena.allocOnStream(4 * PAGE, first);
        assertThat(arena.stats().bytesHeld()).isEqualTo((2 + 8 + 10) * PAGE);
    }

    /** The run in which it was added began in the main lane, which has needed twice as much as it will need. */
    @Test
    void aLaneIsNewUntilASecondRunEndsInIt() throws InterruptedException {
        arena = AllocatedPages.compact(device, 0, 2);
        final long[] ofBoth = {arena.allocOnStream(10 * PAGE, first), arena.allocOnStream(10 * PAGE, second)};
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(first));
        arena.free(arena.allocOnStream(PAGE, first));
        arena.free(ofBoth[0]);
        arena.free(ofBoth[1]);
        arena.endRun(first);
        arena.endRun(second);
        Thread.sleep(1100);

        final long block = arena.allocOnStream(10 * PAGE, second);
        arena.free(arena.allocOnStream(10 * PAGE, first));
        assertThat(arena.stats().bytesHeld()).isEqualTo(21 * PAGE);

        arena.endRun(first);
        arena.free(block);
        arena.endRun(second);
        arena.free(arena.allocOnStream(15 * PAGE, first));
        assertThat(arena.stats().bytesHeld()).as("it is not new any more").isGreaterThan(21 * PAGE);
    }

    @Test
    void whatAStreamMayStillUseStaysInItsLane() {
        arena = AllocatedPages.compact(device, 0, 3);
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
        arena = AllocatedPages.compact(device, 0, 3);
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
        arena = AllocatedPages.compact(device, 4, 2);
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
        arena = AllocatedPages.compact(device, 8, 2);
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

    private long counter(String name) {
        return arena.stats().counter(name).orElseThrow().value();
    }
}
