package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.Limit;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class UpstreamTest {
    private final FakeDevice device = new FakeDevice();
    private final Upstream upstream = new Upstream(device, new Limit(1000));

    @Nested
    class HeldMemory {
        @Test
        void countsWhatIsTakenAndGivenBack() {
            final long first = upstream.take(600);
            assertThat(upstream.left()).isEqualTo(400);
            assertThat(upstream.giveBack(first, 600)).isTrue();
            upstream.take(100);
            assertThat(upstream.bytesHeld()).isEqualTo(100).isEqualTo(device.liveBytes());
            assertThat(upstream.peakBytesHeld()).isEqualTo(600);
        }

        @Test
        void isUnchangedWhenTheDeviceIsFull() {
            device.capacity(50);
            assertThat(upstream.deviceFree()).isEqualTo(OutOfMemoryException.UNKNOWN);
            assertThatThrownBy(() -> upstream.take(51)).isInstanceOf(OutOfMemoryException.class);
            assertThat(upstream.bytesHeld()).isZero();
            assertThat(upstream.deviceFree()).isEqualTo(50);
        }
    }

    @Test
    void anAddressThatIsNotAlignedIsReturnedAndReported() {
        final List<Long> freed = new ArrayList<>();
        final Upstream invalid = new Upstream(
                new FakeDevice() {
                    @Override
                    public synchronized long alloc(long byteSize) {
                        return 0x10_0001;
                    }

                    @Override
                    public synchronized void free(long address) {
                        freed.add(address);
                    }
                },
                Limit.NONE);
        assertThatThrownBy(() -> invalid.take(600))
                .isInstanceOf(DeviceException.class)
                .hasMessageContaining("0x100001, which is not aligned to 256 bytes");
        assertThat(freed).containsExactly(0x10_0001L);
        assertThat(invalid.bytesHeld()).isZero();
        assertThat(invalid.peakBytesHeld()).isZero();
    }

    @Test
    void noAddressIsNoMemoryAndIsNotFreed() {
        final Upstream none = new Upstream(
                new FakeDevice() {
                    @Override
                    public synchronized long alloc(long byteSize) {
                        return 0;
                    }

                    @Override
                    public synchronized void free(long address) {
                        throw new AssertionError("freed");
                    }
                },
                Limit.NONE);
        assertThatThrownBy(() -> none.take(600))
                .isInstanceOf(DeviceException.class)
                .hasMessageContaining("returned no memory for 600 bytes")
                .hasMessageContaining("A-02");
        assertThat(none.bytesHeld()).isZero();
    }
}
