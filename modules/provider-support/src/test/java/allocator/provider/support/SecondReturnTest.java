package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Memory of a {@link BlockLedger} that the device did not take back at once. */
class SecondReturnTest {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Test", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private static final BlockLedger.Return TAKES_ALL_BACK = (address, byteSize) -> {};

    private static final BlockLedger.Return FAILING = (address, byteSize) -> {
        throw new IllegalStateException("failed");
    };

    private final BlockLedger ledger = new BlockLedger(MEMORY);

    private void allocate(long address, long byteSize) {
        assertThat(ledger.allocate(byteSize, size -> address)).isEqualTo(address);
    }

    @Test
    void allocationsGoOnWhileASecondReturnWaitsForItsUsers() {
        allocate(0x1000, 100);
        assertThatThrownBy(() -> ledger.free(0x1000, FAILING)).isInstanceOf(DeviceException.class);
        final BlockLedger.Return device = new BlockLedger.Return() {
            @Override
            public void awaitUsers() {
                allocate(0x2000, 50);
            }

            @Override
            public void giveBack(long address, long byteSize) {
                assertThat(byteSize).isEqualTo(100);
            }
        };
        assertThat(ledger.returnAgain(0x1000, device)).isTrue();
        assertThat(ledger.returnAgain(0x1000, device)).isFalse();
        assertThat(ledger.stats().bytesHeld()).isEqualTo(50);
    }

    /** The device hands it out while its former users are awaited, and fails to take it back then as well. */
    @Test
    void memoryThatHasHadOtherUsersMeanwhileIsAwaitedAgain() {
        allocate(0x1000, 100);
        assertThatThrownBy(() -> ledger.free(0x1000, FAILING)).isInstanceOf(DeviceException.class);
        final List<String> calls = new ArrayList<>();
        final BlockLedger.Return device = new BlockLedger.Return() {
            @Override
            public void awaitUsers() {
                calls.add("await");
                if (calls.size() == 1) {
                    allocate(0x1000, 100);
                    assertThatThrownBy(() -> ledger.free(0x1000, FAILING)).isInstanceOf(DeviceException.class);
                }
            }

            @Override
            public void giveBack(long address, long byteSize) {
                calls.add("give back");
            }
        };
        assertThat(ledger.returnAgain(0x1000, device)).isTrue();
        assertThat(calls).containsExactly("await", "await", "give back");
        assertThat(ledger.isEmpty()).isTrue();
    }

    @Test
    void memoryWhoseUsersCannotBeAwaitedIsHeld() {
        allocate(0x1000, 100);
        final BlockLedger.Return device = new BlockLedger.Return() {
            @Override
            public void awaitUsers() {
                throw new IllegalStateException("failed");
            }

            @Override
            public void giveBack(long address, long byteSize) {
                throw new AssertionError("in use");
            }
        };
        assertThatThrownBy(() -> ledger.free(0x1000, device)).isInstanceOf(DeviceException.class);
        assertThatThrownBy(() -> ledger.returnAgain(0x1000, device)).isInstanceOf(DeviceException.class);
        assertThat(ledger.stats().bytesHeld()).isEqualTo(100);
        assertThat(ledger.returnAgain(0x1000, TAKES_ALL_BACK)).isTrue();
    }

    /** For each block only a few steps: twice as many blocks take twice as long, where a scan would take four times. */
    @Test
    void theCloseOfManyBlocksOfAFailingDeviceTakesLinearTime() {
        final int blocks = 200_000;
        for (long address = 1; address <= blocks; address++) {
            allocate(address << 8, 1);
        }
        final DeviceException failure = new DeviceException("failed", null);
        assertTimeoutPreemptively(
                Duration.ofSeconds(20),
                () -> assertThatThrownBy(() -> ledger.returnAll((address, byteSize) -> {
                            throw failure;
                        }))
                        .isSameAs(failure));
        assertThat(ledger.stats().bytesHeld()).isEqualTo(blocks);
        ledger.returnAll(TAKES_ALL_BACK);
        assertThat(ledger.isEmpty()).isTrue();
    }
}
