package allocator.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceException;
import allocator.spi.ForeignAddressException;
import allocator.spi.OutOfMemoryException;
import org.junit.jupiter.api.Test;

class FakeDeviceTest {
    private final FakeDevice device = new FakeDevice().capacity(1000);

    @Test
    void addressesRiseAndAreNotUsedAgain() {
        final long first = device.alloc(300);
        device.free(first);
        final long second = device.alloc(300);
        assertThat(second).isGreaterThanOrEqualTo(first + 512 + (1 << 20));
        assertThat(device.base(0)).isEqualTo(first);
        assertThat(device.describe(second + 256)).isEqualTo("r1+256");
        assertThat(device.describe(5)).isEqualTo("0x5");
    }

    @Test
    void theCapacityBoundsWhatIsLive() {
        final long block = device.alloc(1000);
        assertThatThrownBy(() -> device.alloc(1)).isInstanceOf(OutOfMemoryException.class);
        assertThat(device.liveBytes()).isEqualTo(1000);
        device.free(block);
        device.free(device.alloc(1000));
        assertThat(device.liveBlocks()).isZero();
        assertThat(device.requestedSizes()).containsExactly(1000L, 1L, 1000L);
    }

    @Test
    void injectedFailuresKeepTheMemory() {
        device.failAllocs(call -> call == 1);
        device.failFrees(call -> call == 0);
        final long block = device.alloc(10);
        assertThatThrownBy(() -> device.alloc(10)).isInstanceOf(DeviceException.class);
        device.free(block);
        assertThat(device.liveBlocks()).isEqualTo(1);
        assertThat(device.unreturnedBytes()).isEqualTo(10);
        assertThatThrownBy(() -> device.free(block)).isInstanceOf(ForeignAddressException.class);
        assertThat(device.returnAgain()).isEqualTo(10);
        assertThat(device.returnAgain()).isZero();
        assertThat(device.liveBlocks()).isZero();
        assertThat(device.allocCalls()).isEqualTo(2);
        assertThat(device.freeCalls()).isEqualTo(2);
    }

    @Test
    void aForeignAddressIsRejected() {
        assertThatThrownBy(() -> device.free(1)).isInstanceOf(ForeignAddressException.class);
        assertThat(device.freeCalls()).isZero();
    }
}
