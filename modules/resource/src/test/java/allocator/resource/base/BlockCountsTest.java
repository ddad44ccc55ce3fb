package allocator.resource.base;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.AllocatorStats;
import org.junit.jupiter.api.Test;

class BlockCountsTest {
    private final BlockCounts counts = new BlockCounts();

    private void assertNumbers(long inUse, long peakInUse, long held, long peakHeld) {
        final AllocatorStats stats = counts.toStats();
        assertThat(new long[] {stats.bytesInUse(), stats.peakBytesInUse(), stats.bytesHeld(), stats.peakBytesHeld()})
                .containsExactly(inUse, peakInUse, held, peakHeld);
        assertThat(stats.freeBytes()).isEqualTo(held - inUse);
    }

    @Test
    void whatIsLeavingIsHeldUntilItIsReturned() {
        counts.allocated(1000, false);
        counts.leaving(1000);
        assertNumbers(0, 1000, 1000, 1000);
        counts.allocated(500, false);
        assertNumbers(500, 1000, 1500, 1500);
        counts.returned(1000);
        assertNumbers(500, 1000, 500, 1500);
    }

    @Test
    void aRestoredBlockRaisesThePeakInUse() {
        counts.allocated(1000, false);
        counts.leaving(1000);
        counts.allocated(500, false);
        counts.restored(1000);
        assertNumbers(1500, 1500, 1500, 1500);
    }

    @Test
    void anUnreturnedBlockStaysHeldWhileItsReturnIsTriedAgain() {
        counts.allocated(1000, false);
        counts.leaving(1000);
        counts.notReturned(1000);
        assertNumbers(0, 1000, 1000, 1000);
        final long changes = counts.unreturnedChanges();
        counts.leavingAgain(1000);
        assertNumbers(0, 1000, 1000, 1000);
        assertThat(counts.unreturned()).isZero();
        assertThat(counts.unreturnedChanges()).isGreaterThan(changes);
        counts.returned(1000);
        assertNumbers(0, 1000, 0, 1000);
    }

    @Test
    void memoryThatArrivesDeadIsHeldAndNotInUse() {
        counts.arrivedDead(1000);
        assertNumbers(0, 0, 1000, 1000);
        counts.notReturned(1000);
        assertNumbers(0, 0, 1000, 1000);
    }
}
