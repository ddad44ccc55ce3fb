package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A second return of memory beside an allocation that has not ended, and a close beside one. */
@Timeout(60)
class SecondReturnTest {
    private final PausingResource resource = new PausingResource();
    private final ResourceAllocator allocator = ResourceAllocator.of(resource);

    /** Pauses within an allocation of 200 bytes, after the memory has been taken. */
    private static final class PausingResource extends FakeResource {
        private final CountDownLatch hasTaken = new CountDownLatch(1);
        private final CountDownLatch mayEnd = new CountDownLatch(1);

        PausingResource() {
            super(1L << 40);
        }

        @Override
        public long allocate(long byteSize, long byteAlignment) {
            final long address = super.allocate(byteSize, byteAlignment);
            if (byteSize == 200) {
                hasTaken.countDown();
                await(mayEnd);
            }
            return address;
        }

        private static void await(CountDownLatch latch) {
            try {
                assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        private CompletableFuture<Long> beginAllocation(ResourceAllocator over) {
            final CompletableFuture<Long> address =
                    CompletableFuture.supplyAsync(() -> over.alloc(200), Thread::startVirtualThread);
            await(hasTaken);
            return address;
        }

        private long countDeallocations() {
            return calls.stream().filter(call -> call.startsWith("deallocate")).count();
        }
    }

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
        final CompletableFuture<Long> block = resource.beginAllocation(allocator);

        assertThatThrownBy(() -> allocator.returnAgain(unreturned)).isInstanceOf(DeviceException.class);
        assertThatThrownBy(() -> allocator.free(unreturned)).isInstanceOf(DeviceException.class);
        allocator.shrink();
        assertThat(resource.countDeallocations()).isEqualTo(1);

        resource.mayEnd.countDown();
        assertThat(block.join()).isEqualTo(unreturned);
        assertThat(allocator.returnAgain(unreturned)).isFalse();
        allocator.free(unreturned);
        assertThat(allocator.stats().bytesHeld()).isZero();
    }

    @Test
    void aCloseLeavesItUnreturnedAndAnotherCloseTriesAgain() {
        leaveUnreturned();
        final CompletableFuture<Long> block = resource.beginAllocation(allocator);
        assertThatThrownBy(allocator::close).isInstanceOf(DeviceException.class);
        assertThat(resource.countDeallocations()).isEqualTo(1);
        resource.mayEnd.countDown();
        assertThatThrownBy(block::join).hasCauseInstanceOf(AllocatorClosedException.class);
    }

    /** Such a block is in use by nobody, so it goes back. */
    @Test
    void anAllocationThatEndsAfterACloseLosesNothing() {
        final CompletableFuture<Long> block = resource.beginAllocation(allocator);
        allocator.close();
        resource.mayEnd.countDown();
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
