package allocator.arena;

import static allocator.arena.Plans.call;
import static allocator.arena.Plans.counter;
import static allocator.arena.Plans.plan;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import allocator.arena.plan.PlanTable;
import allocator.arena.plan.PlannedCalls;
import allocator.arena.plan.PlannedMemory;
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

    private BfcArena arena(long maxMem, PlannedCalls plan) {
        return Plans.arena(device, maxMem, plan);
    }

    @Test
    void aFailureHasTheFiguresAfterThePlansMemoryWasReturned() {
        final BfcArena arena = arena(MIB, plan("half", call(2048, 0)));
        arena.free(arena.alloc(2048 * GRANULE));
        assertThat(arena.stats().bytesHeld()).isEqualTo(MIB / 2);
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> arena.alloc(2 * MIB))
                .satisfies(e -> assertThat(e.shortage().held()).isZero());
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    @Test
    void aReserveThatFailsHasTheFiguresAfterThePlansMemoryWasReturned() {
        final BfcArena arena = arena(MIB, plan("half", call(2048, 0)));
        arena.free(arena.alloc(2048 * GRANULE));
        assertThatExceptionOfType(OutOfMemoryException.class)
                .isThrownBy(() -> arena.reserve(2 * MIB))
                .satisfies(e -> assertThat(e.shortage().held()).isZero());
        assertThat(arena.stats().bytesHeld()).isZero();
    }

    /** The second run is the plan from its beginning, and not the rest of the first. */
    @Test
    void theEndOfAStreamsRunEndsARunThatWasShort() {
        final BfcArena arena = arena(0, plan("alike", call(2, 0), call(2, 2), call(2, 4), call(4, 6)));
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
        final BfcArena arena = arena(0, plan("over", calls));
        for (int run = 0; run < 3; run++) {
            arena.free(arena.alloc(count * GRANULE));
            final List<Long> small = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                small.add(arena.alloc(GRANULE));
            }
            small.forEach(arena::free);
            arena.alloc(GRANULE); // lives on
            arena.checkConsistency();
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
                final BfcArena arena = arena(0, plan("small and large", calls));
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
                arena.checkConsistency();
            }
        }
    }

    @Test
    void aBlockThatWasUndoneHidesNoStream() {
        final PlannedMemory memory =
                new PlannedMemory(new PlanTable(List.of(plan("p", call(2, 0), call(2, 0), call(2, 0)))));
        memory.attach(MIB);
        final FakeStream first = new FakeStream();
        final FakeStream second = new FakeStream();
        final FakeStream third = new FakeStream();
        second.notifyAndWait(third);
        second.notifyAndWait(third);
        final long address = memory.take(2 * GRANULE, first, 0);
        memory.free(memory.placeAt(address));
        first.notifyAndWait(second);
        assertThat(memory.take(2 * GRANULE, second, 2 * GRANULE)).isEqualTo(address);
        memory.undo();
        assertThat(memory.take(2 * GRANULE, third, 2 * GRANULE))
                .as("the third stream has not waited for the first")
                .isEqualTo(PlannedMemory.NO_ADDRESS);
    }

    @Test
    void aDeviceWithoutRoomIsAskedLessAndLessOften() {
        device.capacity(2 * MIB);
        final BfcArena arena = arena(0, plan("large", call(16 * 4096, 0), call(1, 0)));
        for (int run = 0; run < 300; run++) {
            assertThatExceptionOfType(OutOfMemoryException.class).isThrownBy(() -> arena.alloc(16 * MIB));
            arena.free(arena.alloc(GRANULE));
        }
        assertThat(device.requestedSizes().stream().filter(size -> size >= 16 * MIB))
                .hasSizeLessThan(330);
    }
}
