package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.Limit;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class UpstreamMemoryTest {
    private final FakeDevice device = new FakeDevice();
    private final UpstreamMemory memory = new UpstreamMemory(device, new Limit(1000));

    @Nested
    class HeldMemory {
        @Test
        void isCountedUntilItIsBack() {
            long first = memory.take(600);
            assertThat(memory.left()).isEqualTo(400);
            assertThat(memory.giveBack(first, 600)).isNull();
            memory.take(100);
            assertThat(memory.bytesHeld()).isEqualTo(100).isEqualTo(device.liveBytes());
            assertThat(memory.peakBytesHeld()).isEqualTo(600);
        }

        @Test
        void isUnchangedWhenTheDeviceIsFull() {
            device.capacity(50);
            assertThat(memory.deviceFree()).isEqualTo(OutOfMemoryException.UNKNOWN);
            assertThatThrownBy(() -> memory.take(51)).isInstanceOf(OutOfMemoryException.class);
            assertThat(memory.bytesHeld()).isZero();
            assertThat(memory.deviceFree()).isEqualTo(50);
        }

        @Test
        void hasNoLimitWhereTheLimitIsZero() {
            UpstreamMemory unlimited = new UpstreamMemory(device, Limit.NONE);
            unlimited.take(600);
            assertThat(unlimited.left()).isEqualTo(Long.MAX_VALUE - 600);
            assertThat(unlimited.limit().toStats()).isEqualTo(AllocatorStats.UNLIMITED);
            assertThat(memory.limit().toStats()).isEqualTo(1000);
        }
    }

    @Nested
    class UnreturnedMemory {
        @Test
        void staysHeldUntilItIsReturned() {
            long address = memory.take(600);
            device.failFrees(call -> call < 2);
            assertThat(memory.giveBack(address, 600)).isInstanceOf(DeviceException.class);
            assertThatThrownBy(memory::returnAgain).isInstanceOf(DeviceException.class);
            assertThat(memory.bytesHeld()).isEqualTo(600);
            memory.returnAgain();
            assertThat(memory.bytesHeld()).isZero().isEqualTo(device.liveBytes());
        }

        @Test
        void wasReturnedIfTheDeviceHandsItOutAgain() {
            UpstreamMemory recycled = new UpstreamMemory(
                    new FakeDevice() {
                        private long next = 0x10_0000;

                        @Override
                        public synchronized long alloc(long byteSize) {
                            next -= 0x80;
                            return next;
                        }

                        @Override
                        public synchronized void free(long address) {
                            throw new DeviceException("injected failure of a free", null);
                        }
                    },
                    Limit.NONE);
            long address = recycled.take(256);
            assertThat(recycled.giveBack(address, 256)).isInstanceOf(DeviceException.class);
            recycled.take(256);
            assertThat(recycled.bytesHeld()).isEqualTo(256);
        }
    }
}
