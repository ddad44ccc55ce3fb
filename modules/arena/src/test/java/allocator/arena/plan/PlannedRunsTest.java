package allocator.arena.plan;

import static allocator.arena.plan.Plans.call;
import static allocator.arena.plan.Plans.counter;
import static allocator.arena.plan.Plans.plan;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Runs of plans that differ from one another, and plans without memory. */
class PlannedRunsTest {
    private static final long GRANULE = 256;
    private static final long MIB = 1 << 20;

    private final FakeDevice device = new FakeDevice();

    private PlannedAllocator arena(long maxMem, PlannedCalls plan) {
        return Plans.over(device, maxMem, plan);
    }

    @Test
    void aFailureHasTheFiguresAfterThePlansMemoryWasReturned() {
        final PlannedAllocator arena = arena(MIB, plan("half", call(2048, 0)));
        arena.free(arena.alloc(2048 * GRANULE));
        assertThat(arena.stats().bytesHeld()).isEqualTo(MIB / 2);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> arena.alloc(2 * MIB))
                .satisfies(e -> assertThat(e.shortage().held()).isZero());
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    @Test
    void aReserveThatFailsHasTheFiguresAfterThePlansMemoryWasReturned() {
        final PlannedAllocator arena = arena(MIB, plan("half", call(2048, 0)));
        arena.free(arena.alloc(2048 * GRANULE));
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> arena.reserve(2 * MIB))
                .satisfies(e -> assertThat(e.shortage().held()).isZero());
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    /** The second run is the plan from its beginning, and not the rest of the first. */
    @Test
    void theEndOfAStreamsRunEndsARunThatWasShort() {
        final PlannedAllocator arena = arena(0, plan("alike", call(2, 0), call(2, 2), call(2, 4), call(4, 6)));
        final FakeStream stream = new FakeStream();
        arena.free(arena.allocOnStream(2 * GRANULE, stream));
        arena.endRun(stream);
        for (final int granules : new int[] {2, 2, 2, 4}) {
            arena.allocOnStream(granules * GRANULE, stream);
        }
        assertThat(counter(arena, "PlannedAllocs")).isEqualTo(5);
        assertThat(counter(arena, "PlanMismatches")).isZero();
        assertThat(arena.stats().bytesHeld()).isEqualTo(10 * GRANULE);
    }

    /** The large block is left out of the second run, as a block of the first is live in its bytes. */
    @Test
    void blocksOverOneThatWasLeftOutArePlanned() {
        final int count = 500;
        final long[][] calls = new long[count + 2][];
        calls[0] = call(count, 0);
        for (int i = 0; i <= count; i++) {
            calls[i + 1] = call(1, i % count);
        }
        final PlannedAllocator arena = arena(0, plan("over", calls));
        for (int run = 0; run < 3; run++) {
            arena.free(arena.alloc(count * GRANULE));
            final List<Long> small = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                small.add(arena.alloc(GRANULE));
            }
            small.forEach(arena::free);
            arena.alloc(GRANULE); // lives on
        }
        assertThat(counter(arena, "PlanRuns")).isEqualTo(3);
        assertThat(counter(arena, "PlannedAllocs")).isGreaterThan(3 * (count - 1));
        assertThat(counter(arena, "PlanBusyAllocs")).isLessThan(10);
    }

    @Test
    void aBlockIsPlacedOnlyIfAllThatHadItsBytesAreFree() {
        for (int count = 1; count <= 9; count++) {
            for (int live = -1; live < count; live++) {
                final long[][] calls = new long[count + 1][];
                for (int i = 0; i < count; i++) {
                    calls[i] = call(1, i);
                }
                calls[count] = call(count, 0);
                final PlannedAllocator arena = arena(0, plan("small and large", calls));
                final List<Long> small = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    small.add(arena.alloc(GRANULE));
                }
                for (int i = 0; i < count; i++) {
                    if (i != live) {
                        arena.free(small.get(i));
                    }
                }
                arena.alloc(count * GRANULE);
                assertThat(counter(arena, "PlanBusyAllocs"))
                        .as("%d blocks, of which number %d is live", count, live)
                        .isEqualTo(live < 0 ? 0 : 1);
            }
        }
    }

    @Test
    void aDeviceWithoutRoomIsAskedLessAndLessOften() {
        device.capacity(2 * MIB);
        final PlannedAllocator arena = arena(0, plan("large", call(16 * 4096, 0), call(1, 0)));
        for (int run = 0; run < 300; run++) {
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(16 * MIB));
            arena.free(arena.alloc(GRANULE));
        }
        assertThat(device.requestedSizes().stream().filter(size -> size >= 16 * MIB))
                .hasSizeLessThan(330);
    }
}
