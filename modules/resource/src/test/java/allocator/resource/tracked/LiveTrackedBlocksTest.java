package allocator.resource.tracked;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.budget.Budget;
import allocator.resource.FakeResource;
import allocator.testkit.FakeStream;
import org.junit.jupiter.api.Test;

class LiveTrackedBlocksTest {
    private final FakeResource resource = new FakeResource(1 << 20);
    private final TrackedMemory memory = new TrackedMemory(resource, new FakeEvents(), Budget.of("all", 1 << 20));
    private final FakeStream stream = new FakeStream(resource.memory());

    private TrackedBlock block(long address, long generation) {
        TrackedBlock block = new TrackedBlock(memory, 1, 256, generation, "test");
        block.at(address);
        return block;
    }

    @Test
    void aLiveBlockKeepsItsPlaceAndAnotherIsNotRemovedForIt() {
        LiveTrackedBlocks live = new LiveTrackedBlocks();
        TrackedBlock old = block(256, 1);
        TrackedBlock young = block(256, 2);
        assertThat(live.put(old)).isNull();
        assertThat(live.put(young)).isSameAs(old);
        live.remove(young);
        assertThat(live.get(256)).isSameAs(old);
        live.remove(old);
        assertThat(live.get(256)).isNull();
    }

    @Test
    void aFreedBlockIsReplaced() {
        TrackedBlock first = memory.allocate(1, stream, "first");
        memory.free(first);
        assertThat(first.isFreed()).isTrue();
        LiveTrackedBlocks live = new LiveTrackedBlocks();
        assertThat(live.put(first)).isNull();
        TrackedBlock second = block(first.address(), 2);
        assertThat(live.put(second)).isNull();
        assertThat(live.all()).containsExactly(second);
    }
}
