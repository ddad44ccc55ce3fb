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

class RegionSourceTest {
    private final FakeDevice device = new FakeDevice();
    private final RegionSource source = new RegionSource(device, new Limit(1000));

    @Nested
    class HeldMemory {
        @Test
        void countsWhatIsTakenAndGivenBack() {
            final BumpRegion first = new BumpRegion(600);
            source.take(first);
            assertThat(source.left()).isEqualTo(400);
            assertThat(source.giveBack(first)).isTrue();
            source.take(new BumpRegion(100));
            assertThat(source.bytesHeld()).isEqualTo(100).isEqualTo(device.liveBytes());
            assertThat(source.peakBytesHeld()).isEqualTo(600);
        }

        @Test
        void isUnchangedWhenTheDeviceIsFull() {
            device.capacity(50);
            assertThat(source.deviceFree()).isEqualTo(OutOfMemoryException.UNKNOWN);
            assertThatThrownBy(() -> source.take(new BumpRegion(51))).isInstanceOf(OutOfMemoryException.class);
            assertThat(source.bytesHeld()).isZero();
            assertThat(source.deviceFree()).isEqualTo(50);
        }
    }

    @Test
    void anAddressThatIsNotAlignedIsReturnedAndReported() {
        final List<Long> freed = new ArrayList<>();
        final RegionSource invalid = new RegionSource(
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
        assertThatThrownBy(() -> invalid.take(new BumpRegion(600)))
                .isInstanceOf(DeviceException.class)
                .hasMessageContaining("0x100001, which is not aligned to 256 bytes");
        assertThat(freed).containsExactly(0x10_0001L);
        assertThat(invalid.bytesHeld()).isZero();
        assertThat(invalid.peakBytesHeld()).isZero();
    }

    @Test
    void noAddressIsNoMemoryAndIsNotFreed() {
        final RegionSource none = new RegionSource(
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
        assertThatThrownBy(() -> none.take(new BumpRegion(600)))
                .isInstanceOf(DeviceException.class)
                .hasMessageContaining("returned no memory for 600 bytes")
                .hasMessageContaining("A-02");
        assertThat(none.bytesHeld()).isZero();
    }
}
