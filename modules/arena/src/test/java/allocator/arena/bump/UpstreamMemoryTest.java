package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.Failures;
import allocator.provider.support.Limit;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.List;
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
    class Tables {
        @Test
        void haveRoomForWhatIsAnnouncedUntilItsEnd() {
            long before = memory.bookkeepingBytes();
            memory.prepareReturns(1000);
            assertThat(memory.bookkeepingBytes()).isGreaterThan(10 * before);
            memory.endReturns();
            assertThat(memory.bookkeepingBytes()).isEqualTo(before);
        }
    }

    @Nested
    class InvalidAddress {
        @Test
        void isReturnedAndReported() {
            List<Long> freed = new ArrayList<>();
            UpstreamMemory invalid = new UpstreamMemory(
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
    }

    @Test
    void noAddressIsNoMemoryAndIsNotFreed() {
        UpstreamMemory none = new UpstreamMemory(
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

    @Nested
    class UnreturnedMemory {
        @Test
        void staysHeldUntilItIsReturned() {
            long address = memory.take(600);
            device.failFrees(call -> call < 2);
            assertThat(memory.giveBack(address, 600)).isInstanceOf(DeviceException.class);
            Failures failures = new Failures();
            memory.returnAgain(failures);
            assertThatThrownBy(failures::throwIfAny).isInstanceOf(DeviceException.class);
            assertThat(memory.bytesHeld()).isEqualTo(600);
            memory.returnAgain(new Failures());
            assertThat(memory.bytesHeld()).isZero().isEqualTo(device.liveBytes());
        }

        @Test
        void isForgottenIfTheDeviceHasReturnedItByItself() {
            long address = memory.take(600);
            device.failFrees(call -> call == 0);
            assertThat(memory.giveBack(address, 600)).isInstanceOf(DeviceException.class);
            device.returnAgain();
            Failures failures = new Failures();
            memory.returnAgain(failures);
            failures.throwIfAny();
            assertThat(memory.bytesHeld()).isZero();
        }

        @Test
        void isHeldWhateverTheDeviceThrows() {
            Error failure = new AssertionError("simulated");
            UpstreamMemory failing = new UpstreamMemory(
                    new FakeDevice() {
                        @Override
                        public synchronized void free(long address) {
                            throw failure;
                        }
                    },
                    Limit.NONE);
            long address = failing.take(600);
            assertThat(failing.giveBack(address, 600)).isSameAs(failure);
            assertThat(failing.bytesHeld()).isEqualTo(600);
        }

        @Test
        void wasReturnedIfTheDeviceHandsItOutAgain() {
            UpstreamMemory recycled = new UpstreamMemory(
                    new FakeDevice() {
                        private long next = 0x10_0000;

                        @Override
                        public synchronized long alloc(long byteSize) {
                            next -= 0x100;
                            return next;
                        }

                        @Override
                        public synchronized void free(long address) {
                            throw new DeviceException("injected failure of a free", null);
                        }
                    },
                    Limit.NONE);
            long address = recycled.take(512);
            assertThat(recycled.giveBack(address, 512)).isInstanceOf(DeviceException.class);
            recycled.take(512);
            assertThat(recycled.bytesHeld()).isEqualTo(512);
        }
    }
}
