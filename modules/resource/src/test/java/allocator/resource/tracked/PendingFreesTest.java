package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.PausingResource;
import allocator.resource.budget.Budget;
import allocator.spi.DeviceException;
import allocator.testkit.FakeStream;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PendingFreesTest {
    /** The upstream has taken the memory back, although it threw, and hands it out again. */
    @Test
    void memoryIsNotReturnedTwiceWhileItMayBeANewBlock() {
        final PausingResource resource = new PausingResource(200);
        final FakeEvents events = new FakeEvents();
        final TrackedMemory memory = new TrackedMemory(resource, events, Budget.of("device", 1 << 20));
        final FakeStream stream = new FakeStream(resource.memory());
        final TrackedBlock unreturned = memory.allocate(100, stream, "unreturned");
        memory.free(unreturned);
        events.advanceAll();
        resource.afterFree(() -> {
            resource.afterFree(() -> {});
            throw new DeviceException("planted", null);
        });
        assertThatThrownBy(memory::reap).isInstanceOf(DeviceException.class);

        final CompletableFuture<TrackedBlock> block = resource.begin(() -> memory.allocate(200, stream, "new"));
        assertThat(memory.reap()).isZero();
        assertThat(resource.countDeallocations()).isEqualTo(1);

        resource.end();
        assertThat(block.join().address()).isEqualTo(unreturned.address());
        assertThat(memory.reap()).isEqualTo(100);
        assertThat(resource.countDeallocations()).isEqualTo(1);
        memory.free(block.join());
        events.advanceAll();
        memory.reap();
        memory.close();
        assertThat(resource.bytes()).isZero();
    }
}
