package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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

    /** In whichever order they are tried. */
    @ParameterizedTest
    @ValueSource(longs = {100, 200, 300})
    void aBlockThatFailsAgainKeepsNoOtherFromBeingReturned(long failing) {
        final Set<Long> rejected = new HashSet<>(List.of(100L, 200L, 300L));
        final FakeResource rejecting = new FakeResource(1 << 20) {
            @Override
            public void deallocate(long address, long byteSize, long byteAlignment) {
                if (rejected.contains(byteSize)) {
                    throw new DeviceException("planted", null);
                }
                super.deallocate(address, byteSize, byteAlignment);
            }
        };
        final ResourceAllocator over = ResourceAllocator.of(rejecting);
        for (final long byteSize : List.copyOf(rejected)) {
            final long block = over.alloc(byteSize);
            assertThatThrownBy(() -> over.free(block)).isInstanceOf(DeviceException.class);
        }
        rejected.retainAll(Set.of(failing));
        assertThatThrownBy(over::shrink).isInstanceOf(DeviceException.class);
        assertThat(rejecting.bytes()).isEqualTo(failing);
        rejected.clear();
        over.shrink();
        assertThat(rejecting.bytes()).isZero();
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
