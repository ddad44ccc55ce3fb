package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.DeviceException;
import allocator.testkit.FakeStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class SynchronizingResourceTest {
    private final FakeResource addresses = new FakeResource(1000);
    private final SynchronizingResource resource = new SynchronizingResource(new Unordered(addresses));
    private final FakeStream stream = new FakeStream(addresses.memory());
    private final long address = resource.allocate(100, 8, stream);

    @Nested
    class ClosedStreams {
        @Test
        void theWorkOfOneThatHasEndedIsDone() {
            stream.close();
            resource.deallocate(address, 100, 8, stream);
            assertThat(addresses.blocks()).isZero();
        }

        @Test
        void theWorkOfOneThatHasNotEndedMayBeQueued() {
            stream.before(operation -> {
                throw new DeviceException("planted", null);
            });
            assertThatThrownBy(stream::close).isInstanceOf(DeviceException.class);
            assertThatThrownBy(() -> resource.deallocate(address, 100, 8, stream))
                    .isInstanceOf(IllegalStateException.class);
            assertThat(addresses.blocks()).isEqualTo(1);
        }
    }
}
