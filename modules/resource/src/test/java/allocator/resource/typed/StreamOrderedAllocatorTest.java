package allocator.resource.typed;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.resource.FakeResource;
import allocator.testkit.FakeStream;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class StreamOrderedAllocatorTest {
    private final FakeResource addresses = new FakeResource(1000);

    @Test
    void everyCallIsOnTheStream() {
        FakeStream stream = new FakeStream(addresses.memory());
        var floats = new StreamOrderedAllocator<>(addresses, ValueLayout.JAVA_FLOAT, stream);
        floats.deallocate(floats.allocate(5), 5);
        assertThat(addresses.calls)
                .containsExactly(
                        "on " + stream.handle(),
                        "allocate 20 aligned 4",
                        "on " + stream.handle(),
                        "deallocate 20 aligned 4");
    }

    @Test
    void anArrayOfAStreamThatHasEndedIsDeallocatedWithoutOne() {
        FakeStream stream = new FakeStream(addresses.memory());
        var floats = new StreamOrderedAllocator<>(addresses, ValueLayout.JAVA_FLOAT, stream);
        long address = floats.allocate(5);
        stream.close();
        floats.deallocate(address, 5);
        assertThat(addresses.blocks()).isZero();
    }
}
