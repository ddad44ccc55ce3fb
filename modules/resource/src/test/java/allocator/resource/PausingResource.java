package allocator.resource;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** A resource that pauses within the allocations of one size, after the memory has been taken. */
public final class PausingResource extends FakeResource {
    private final CountDownLatch hasTaken = new CountDownLatch(1);
    private final CountDownLatch mayEnd = new CountDownLatch(1);
    private final long byteSize;

    /**
     * Creates a resource.
     *
     * @param byteSize the size
     */
    public PausingResource(long byteSize) {
        super(1L << 40);
        this.byteSize = byteSize;
    }

    @Override
    public long allocate(long requested, long byteAlignment) {
        final long address = super.allocate(requested, byteAlignment);
        if (requested == byteSize) {
            hasTaken.countDown();
            await(mayEnd);
        }
        return address;
    }

    /**
     * Begins an allocation on another thread, and returns when it pauses.
     *
     * @param <T> what it returns
     * @param allocation allocates the size
     * @return its result, once it has ended
     */
    public <T> CompletableFuture<T> begin(Supplier<T> allocation) {
        final CompletableFuture<T> result = CompletableFuture.supplyAsync(allocation, Thread::startVirtualThread);
        await(hasTaken);
        return result;
    }

    /** Ends the pause, and all that follow. */
    public void end() {
        mayEnd.countDown();
    }

    /**
     * Counts deallocations.
     *
     * @return how many were begun
     */
    public long countDeallocations() {
        return calls.stream().filter(call -> call.startsWith("deallocate")).count();
    }

    private static void await(CountDownLatch latch) {
        try {
            if (!latch.await(30, TimeUnit.SECONDS)) {
                throw new AssertionError("the other thread does not come");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
