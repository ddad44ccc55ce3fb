package allocator.runtime.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.runtime.lifetime.Cleanup;
import allocator.runtime.lifetime.OwedBlocks;
import allocator.testkit.FakeAllocator;
import allocator.testkit.FakeDevice;
import allocator.testkit.Faults;
import org.junit.jupiter.api.Test;

class StagingMemoryTest {
    private final FakeAllocator allocator = new FakeAllocator(FakeDevice.INFO);
    private final OwedBlocks owed = new OwedBlocks();

    @Test
    void aBlockThatCanBeNeitherSeenNorFreedIsFreedLater() {
        final IllegalStateException unseen = new IllegalStateException("the host does not reach it");
        final IllegalStateException unfreed = new IllegalStateException("the free has no effect");
        final StagingMemory memory = StagingMemory.of(
                allocator,
                (address, byteSize) -> {
                    throw unseen;
                },
                owed);
        allocator.before(Faults.on("free", unfreed));
        assertThatThrownBy(() -> memory.allocate(8)).isSameAs(unseen).hasSuppressedException(unfreed);
        assertThat(allocator.live()).hasSize(1);
        allocator.before(Faults.NONE);
        owed.freeAgain(new Cleanup());
        assertThat(allocator.live()).isEmpty();
    }
}
