package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceType;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class BlockLedgerTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private final BlockLedger ledger = new BlockLedger(MEMORY);

    @Nested
    class Statistics {
        @Test
        void allocationsReservesAndFailuresAreCounted() {
            ledger.allocated(0x1000, 100);
            ledger.reserved(0x2000, 300);
            ledger.failed();
            final AllocatorStats stats = ledger.stats();
            assertThat(stats.numAllocs()).isEqualTo(2);
            assertThat(stats.numReserves()).isEqualTo(1);
            assertThat(stats.numFailedAllocs()).isEqualTo(1);
            assertThat(stats.maxAllocSize()).isEqualTo(300);
            assertThat(stats.bytesInUse()).isEqualTo(400);
            assertThat(stats.bytesHeld()).isEqualTo(400);
            assertThat(stats.limit()).isEqualTo(AllocatorStats.UNLIMITED);
        }

        @Test
        void memoryIsHeldUntilItIsReturned() {
            ledger.allocated(0x1000, 100);
            final long byteSize = ledger.remove(0x1000);
            assertThat(ledger.stats().bytesInUse()).isZero();
            assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
            assertThat(ledger.stats().freeBytes()).isEqualTo(100);
            ledger.returned(byteSize);
            assertThat(ledger.stats().bytesHeld()).isZero();
            assertThat(ledger.stats().peakBytesHeld()).isEqualTo(100);
            assertThat(ledger.stats().peakBytesInUse()).isEqualTo(100);
        }
    }

    @Nested
    class InvalidFree {
        @Test
        void anAddressInsideABlockIsInterior() {
            ledger.allocated(0x1000, 100);
            assertThatThrownBy(() -> ledger.remove(0x1001))
                    .isInstanceOf(InteriorAddressException.class)
                    .hasMessageContaining("1 bytes into the block of 100 bytes at 0x1000");
            assertThat(ledger.stats().bytesInUse()).isEqualTo(100);
        }

        @Test
        void anyOtherAddressIsForeign() {
            ledger.allocated(0x1000, 100);
            assertThatThrownBy(() -> ledger.remove(0x1000 + 100)).isInstanceOf(ForeignAddressException.class);
            ledger.remove(0x1000);
            assertThatThrownBy(() -> ledger.remove(0x1000)).isInstanceOf(ForeignAddressException.class);
        }
    }

    @Nested
    class MemoryThatTheDeviceDidNotTakeBack {
        @Test
        void staysHeldAndCanBeFreedAgain() {
            ledger.allocated(0x1000, 100);
            ledger.notReturned(0x1000, ledger.remove(0x1000));
            assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
            assertThat(ledger.stats().bytesInUse()).isZero();
            ledger.returned(ledger.remove(0x1000));
            assertThat(ledger.stats().bytesHeld()).isZero();
        }

        @Test
        void isDrainedWithTheLiveBlocks() {
            ledger.allocated(0x1000, 100);
            ledger.allocated(0x2000, 200);
            ledger.notReturned(0x1000, ledger.remove(0x1000));
            assertThat(ledger.drain())
                    .containsExactly(new BlockLedger.Entry(0x2000, 200), new BlockLedger.Entry(0x1000, 100));
            assertThat(ledger.drain()).isEmpty();
        }
    }
}
