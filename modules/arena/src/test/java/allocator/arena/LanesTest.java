package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An arena that is divided into lanes. */
@Timeout(120)
class LanesTest {
    private static final long MIB = 1 << 20;
    private static final long CAPACITY = 64 * MIB;

    private final FakeDevice device = new FakeDevice().capacity(CAPACITY);
    private final FakeStream first = new FakeStream();
    private final FakeStream second = new FakeStream();
    private BfcArena arena = create(Map.of());

    private BfcArena create(Map<String, String> options) {
        return new BfcArena(
                device, ArenaConfig.from(AllocatorOptions.of(options)).withKeepFirstRegion(false));
    }

    private void recreate(String key, long value) {
        arena = create(Map.of(key, Long.toString(value)));
    }

    private void leaveMainLane(FakeStream stream) {
        arena.lanes.choice.leaveMainLane(LaneChoice.requester(stream));
    }

    private void divide() {
        leaveMainLane(first);
        leaveMainLane(second);
    }

    @Nested
    class Frees {
        @Test
        void memoryIsFreedWhereItCameFrom() {
            final long before = arena.allocOnStream(1000, first);
            leaveMainLane(first);
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
        void invalidFreesAreDiagnosedInEveryLane() {
            leaveMainLane(first);
            final long address = arena.allocOnStream(1000, first);
            assertThatExceptionOfType(InteriorAddressException.class).isThrownBy(() -> arena.free(address + 256));
            assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> arena.free(address + CAPACITY));
            arena.free(address);
            assertThatExceptionOfType(DoubleFreeException.class).isThrownBy(() -> arena.free(address));
            arena.shrink();
            assertThatExceptionOfType(ForeignAddressException.class).isThrownBy(() -> arena.free(address));
        }

        @Test
        void aStreamsMemoryInTheMainLaneIsUnboundAsWell() {
            final long before = arena.allocOnStream(MIB, first);
            leaveMainLane(first);
            arena.free(before);
            assertThat(arena.alloc(MIB)).as("memory of the stream").isNotEqualTo(before);
            arena.endRun(first);
            assertThat(arena.alloc(MIB)).isEqualTo(before);
        }
    }

    @Nested
    class Pressure {
        @Test
        void lanesServeOneAnotherAndReturnMemory() {
            divide();
            final long most = arena.allocOnStream(CAPACITY - 2 * MIB, first);
            arena.free(most);
            arena.endRun(first);
            final long chunk = arena.allocOnStream(CAPACITY - 2 * MIB, second);
            assertThat(chunk).isEqualTo(most);
            arena.free(chunk);
            arena.endRun(second);
            // Larger than the free memory of any lane: all must be returned first.
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
        void aFailureIsCountedOnceAlsoIfTheDeviceFailsAtTheShrink() {
            recreate("arena.max_mem", 4 * MIB);
            divide();
            arena.free(arena.allocOnStream(4 * MIB, first));
            arena.endRun(first);
            device.failFrees(call -> true);
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.reserve(1));
            assertThat(arena.stats().numFailedAllocs()).isEqualTo(1);
            device.failFrees(call -> false);
            arena.free(arena.reserve(1));
        }
    }

    @Nested
    class SharedLanes {
        @Test
        void theLaneOfAReleasedStreamIsReused() {
            for (int i = 0; i < 10; i++) {
                final FakeStream brief = new FakeStream();
                leaveMainLane(brief);
                arena.free(arena.allocOnStream(MIB, brief));
                arena.releaseStream(brief);
            }
            assertThat(arena.laneCount()).isEqualTo(2);
            assertThat(arena.stats().bytesHeld()).isEqualTo(MIB);
        }

        @Test
        void moreStreamsThanLanesShareThem() {
            recreate("arena.max_lanes", 3);
            final FakeStream third = new FakeStream();
            divide();
            leaveMainLane(third);
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
    }

    @Nested
    class Shrinking {
        @Test
        void onlyTheMainLaneKeepsItsFirstRegion() {
            arena = new BfcArena(device, ArenaConfig.DEFAULT);
            arena.free(arena.alloc(1000));
            leaveMainLane(first);
            arena.free(arena.allocOnStream(1000, first));
            assertThat(arena.shrink())
                    .isEqualTo(new ShrinkReport(
                            MIB,
                            1,
                            MIB,
                            0,
                            1,
                            List.of(new ShrinkReport.Held(
                                    MIB, 1, "the first region, which arena.keep_first_region=0 returns"))));
        }

        @Test
        void memoryThatCannotBeReturnedCountsAgainstTheLimitAndIsOfferedAgainBeforeARequestFails() {
            recreate("arena.max_mem", 4 * MIB);
            leaveMainLane(first);
            arena.free(arena.allocOnStream(4 * MIB, first));
            arena.endRun(first);
            device.failFrees(call -> true);
            assertThat(arena.shrink().bytesReleased()).isZero();
            assertThat(arena.stats().bytesHeld()).isEqualTo(4 * MIB);
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(MIB));
            device.failFrees(call -> false);
            arena.free(arena.alloc(MIB));
            assertThat(arena.stats().bytesHeld()).isEqualTo(device.liveBytes());
        }
    }

    @Nested
    class WholeArena {
        @Test
        void theStatisticsAreTheSumsOfAllLanes() {
            divide();
            arena.allocOnStream(1000, second);
            arena.allocOnStream(1000, first);
            arena.alloc(1000);
            assertThat(arena.stats().bytesInUse()).isEqualTo(3 * 1024);
            assertThat(arena.inspect().regions())
                    .extracting(AllocatorSnapshot.Region::lane)
                    .containsExactly(0, 1, 2);
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
            leaveMainLane(new FakeStream());
            assertThat(arena.laneCount()).isEqualTo(3);
            assertThat(arena.close()).isEqualTo(new CloseReport(0, 0, 0));
        }
    }
}
