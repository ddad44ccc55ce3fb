package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.provider.support.Failures;
import allocator.provider.support.Limit;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.testkit.FakeDevice;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class RegionChainTest {
    private final FakeDevice device = new FakeDevice();
    private final UpstreamMemory memory = new UpstreamMemory(device, Limit.NONE);
    private final RegionChain chain = new RegionChain(memory);

    private void add(RegionChain to, long... sizes) {
        for (long byteSize : sizes) {
            to.add(new SequentialRegion(to.byteSize(), byteSize));
        }
    }

    private Failures release(int first) {
        Failures failures = new Failures();
        chain.prepareReleaseFrom(first);
        chain.releaseFrom(first, failures);
        return failures;
    }

    @Nested
    class Growth {
        @Test
        void takesTheMemoryOfEachRegion() {
            add(chain, 100, 50);
            assertThat(device.requestedSizes()).containsExactly(100L, 50L);
            assertThat(chain.byteSize()).isEqualTo(150).isEqualTo(memory.bytesHeld());
            assertThat(chain.get(1).base()).isEqualTo(device.base(1));
            assertThat(chain.get(1).position).isEqualTo(100);
        }

        @Test
        void changesNothingWhenTheDeviceIsFull() {
            add(chain, 100);
            device.capacity(149);
            assertThatThrownBy(() -> add(chain, 50)).isInstanceOf(OutOfMemoryException.class);
            assertThat(chain.count()).isEqualTo(1);
            assertThat(chain.byteSize()).isEqualTo(100).isEqualTo(memory.bytesHeld());
            assertThat(memory.deviceFree()).isEqualTo(49);
        }
    }

    @Nested
    class Release {
        @Test
        void returnsTheLastRegions() {
            add(chain, 100, 50, 25);
            Failures failures = release(1);
            failures.throwIfAny();
            assertThat(chain.byteSize()).isEqualTo(100).isEqualTo(device.liveBytes());
        }

        @Test
        void goesOnAfterAFailureAndReportsIt() {
            add(chain, 100, 50, 25);
            device.failFrees(call -> call == 1);
            assertThatThrownBy(() -> release(0).throwIfAny()).isInstanceOf(DeviceException.class);
            assertThat(chain.count()).isZero();
            assertThat(device.liveBytes()).isEqualTo(50).isEqualTo(memory.bytesHeld());
        }
    }

    @Nested
    class Lookup {
        @Test
        void findsTheFirstRegionWithRoomFromAnIndexOn() {
            add(chain, 100, 50, 200);
            assertThat(chain.firstWithRoom(0, 100, 1)).isZero();
            assertThat(chain.firstWithRoom(1, 100, 1)).isEqualTo(2);
            assertThat(chain.firstWithRoom(0, 201, 1)).isEqualTo(3);
        }
    }
}
