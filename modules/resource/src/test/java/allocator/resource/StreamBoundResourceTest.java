package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.testkit.FakeStream;
import org.junit.jupiter.api.Test;

class StreamBoundResourceTest {
    private final FakeResource addresses = new FakeResource(1000);
    private final FakeStream stream = new FakeStream(addresses.memory());
    private final StreamBoundResource bound = new StreamBoundResource(addresses, stream);

    @Test
    void everyCallIsOnTheStream() {
        bound.deallocate(bound.allocate(100), 100);
        assertThat(addresses.calls)
                .filteredOn(("on " + stream.handle())::equals)
                .hasSize(2);
        assertThat(bound.context()).isEqualTo(new MemoryContext.StreamBound(stream));
    }

    @Test
    void memoryOfAStreamThatHasEndedIsDeallocatedWithoutOne() {
        long address = bound.allocate(100);
        long other = bound.allocate(100);
        stream.close();
        bound.deallocate(address, 100);
        new StatisticsResource(bound).deallocate(other, 100, 256, stream);
        assertThat(addresses.blocks()).isZero();
        assertThatThrownBy(() -> bound.allocate(100)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aDecoratorKeepsTheContextAndRejectsOtherStreams() {
        StatisticsResource counted = new StatisticsResource(bound);
        assertThat(counted.context()).isEqualTo(bound.context());
        FakeStream other = new FakeStream(addresses.memory());
        assertThatThrownBy(() -> counted.allocate(8, 8, other)).isInstanceOf(IllegalArgumentException.class);
        counted.deallocate(counted.allocate(8, 8, stream), 8, 8, stream);
        assertThat(stream.flushes()).isZero();
    }

    @Test
    void bindingTwiceIsRejected() {
        assertThatThrownBy(() -> new StreamBoundResource(new StatisticsResource(bound), stream))
                .isInstanceOf(StackOrderException.class);
    }
}
