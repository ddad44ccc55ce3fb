package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Memory of a {@link BlockLedger} that other threads get during its free. What they do is done by the device here. */
class RetakenMemoryTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private static final BlockLedger.Return TAKES_ALL_BACK = (address, byteSize) -> {};

    private final BlockLedger ledger = new BlockLedger(MEMORY);

    private static BlockLedger.Return failingWith(Error failure) {
        return (address, byteSize) -> {
            throw failure;
        };
    }

    private void allocate(long address, long byteSize) {
        assertThat(ledger.allocate(byteSize, size -> address)).isEqualTo(address);
    }

    @Test
    void memoryThatTheyGetBeforeItsFreeFailsIsTheirs() {
        allocate(0x1000, 100);
        assertThrows(
                DeviceException.class,
                () -> ledger.free(0x1000, (address, byteSize) -> {
                    allocate(address, 200);
                    throw new IllegalStateException("failed");
                }));
        assertThat(ledger.stats().bytesInUse()).isEqualTo(200);
        assertThat(ledger.stats().bytesHeld()).isEqualTo(200);
        final List<Long> returned = new ArrayList<>();
        ledger.returnAll((address, byteSize) -> returned.add(address));
        assertThat(returned).containsExactly(0x1000L);
        assertThat(ledger.isEmpty()).isTrue();
    }

    @Test
    void memoryThatTheyGetAndFreeInVainBeforeItsFreeFailsIsHeldOnce() {
        allocate(0x1000, 100);
        assertThrows(
                DeviceException.class,
                () -> ledger.free(0x1000, (address, byteSize) -> {
                    allocate(0x1000, 50);
                    assertThrows(DeviceException.class, () -> ledger.free(0x1000, failingWith(new Error("failed"))));
                    throw new IllegalStateException("failed");
                }));
        assertThat(ledger.stats().bytesHeld()).isEqualTo(50);
        assertThat(ledger.returnAgain(0x1000, TAKES_ALL_BACK)).isTrue();
        assertThat(ledger.isEmpty()).isTrue();
    }

    @Test
    void memoryThatTheyGetAndFreeBeforeItsFreeFailsIsNotReturnedAgain() {
        allocate(0x1000, 100);
        assertThrows(
                DeviceException.class,
                () -> ledger.free(0x1000, (address, byteSize) -> {
                    allocate(0x1010, 50);
                    ledger.free(0x1010, TAKES_ALL_BACK);
                    assertThat(ledger.stats().bytesHeld()).isZero();
                    assertThat(ledger.isEmpty()).as("its call goes on").isFalse();
                    throw new IllegalStateException("failed");
                }));
        assertThat(ledger.isEmpty()).isTrue();
        assertThat(ledger.returnAgain(0x1000, TAKES_ALL_BACK)).isFalse();
    }

    /** The outer free has lost the memory to the inner one, which begins and fails while the outer one goes on. */
    @Test
    void memoryThatTheyFailToReturnIsHeldAlthoughItsFirstFreeSucceeds() {
        allocate(0x1000, 100);
        ledger.free(0x1000, (address, byteSize) -> {
            allocate(0x1000, 50);
            assertThrows(DeviceException.class, () -> ledger.free(0x1000, failingWith(new Error("failed"))));
        });
        assertThat(ledger.stats().bytesHeld()).isEqualTo(50);
        assertThat(ledger.returnAgain(0x1000, TAKES_ALL_BACK)).isTrue();
        assertThat(ledger.isEmpty()).isTrue();
    }
}
