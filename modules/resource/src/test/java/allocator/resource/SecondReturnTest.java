package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A second return of memory beside an allocation that has not ended, and a close beside one. */
@Timeout(60)
class SecondReturnTest {
    private final PausingResource resource = new PausingResource(200);
    private final ResourceAllocator allocator = ResourceAllocator.of(resource);

    /** The resource has taken the memory back, although it threw, and hands it out again. */
    private long leaveUnreturned() {
        final long address = allocator.alloc(100);
        resource.afterFree(() -> {
            throw new DeviceException("planted", null);
        });
        assertThatThrownBy(() -> allocator.free(address)).isInstanceOf(DeviceException.class);
        resource.afterFree(() -> {});
        return address;
    }

    @Test
    void memoryIsNotReturnedTwiceWhileItMayBeANewBlock() {
        final long unreturned = leaveUnreturned();
        final CompletableFuture<Long> block = resource.begin(() -> allocator.alloc(200));

        assertThatThrownBy(() -> allocator.returnAgain(unreturned)).isInstanceOf(DeviceException.class);
        assertThatThrownBy(() -> allocator.free(unreturned)).isInstanceOf(DoubleFreeException.class);
        allocator.shrink();
        assertThat(resource.countDeallocations()).isEqualTo(1);

        resource.end();
        assertThat(block.join()).isEqualTo(unreturned);
        assertThat(allocator.returnAgain(unreturned)).isFalse();
        allocator.free(unreturned);
        assertThat(allocator.stats().bytesHeld()).isZero();
    }

    @Test
    void aCloseLeavesItUnreturnedAndAnotherCloseTriesAgain() {
        leaveUnreturned();
        final CompletableFuture<Long> block = resource.begin(() -> allocator.alloc(200));
        assertThatThrownBy(allocator::close).isInstanceOf(DeviceException.class);
        assertThat(resource.countDeallocations()).isEqualTo(1);
        resource.end();
        assertThatThrownBy(block::join).hasCauseInstanceOf(AllocatorClosedException.class);
    }

    /** Such a block is in use by nobody, so it goes back. */
    @Test
    void anAllocationThatEndsAfterACloseLosesNothing() {
        final CompletableFuture<Long> block = resource.begin(() -> allocator.alloc(200));
        allocator.close();
        resource.end();
        assertThatThrownBy(block::join).hasCauseInstanceOf(AllocatorClosedException.class);
        assertThat(resource.countDeallocations()).isEqualTo(1);
        assertThat(resource.bytes()).isZero();
    }

    /** A call back of the resource that asks for a shrink does not wait for itself. */
    @Test
    void aShrinkWithinAnAllocationReturnsNothingAgain() {
        leaveUnreturned();
        resource.before(call -> {
            resource.before(later -> {});
            allocator.shrink();
        });
        allocator.alloc(300);
        assertThat(resource.countDeallocations()).isEqualTo(1);
    }
}
