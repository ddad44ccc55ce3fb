package allocator.resource;

import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Calls back when an allocation runs out of memory, and retries it, a bounded number of times. Other failures pass
 * through.
 *
 * <p>It handles the failures of the resources below it: place it above a
 * {@link allocator.resource.budget.BudgetResource} to handle requests that the budget rejects.
 */
public final class FailureCallbackResource extends ResourceDecorator {
    private final int maxAttempts;
    private final FailureCallback callback;

    /** Makes room for an allocation. */
    @FunctionalInterface
    public interface FailureCallback {
        /**
         * Makes room, or gives up. Runs on the thread of the request; no lock of this module is held.
         *
         * @param failure the failure of the upstream
         * @param attempt the number of this call for the request, from 1
         * @return whether to retry
         */
        boolean makeRoom(OutOfMemoryException failure, int attempt);
    }

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     * @param maxAttempts the most calls for one request, at least 1
     * @param callback makes room
     * @throws IllegalArgumentException if {@code maxAttempts} is below 1
     */
    public FailureCallbackResource(MemoryResource upstream, int maxAttempts, FailureCallback callback) {
        super(upstream);
        if (maxAttempts < 1) {
            throw new IllegalArgumentException("maxAttempts is " + maxAttempts + ", it must be at least 1");
        }
        this.maxAttempts = maxAttempts;
        this.callback = callback;
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        for (int attempt = 1; ; attempt++) {
            try {
                return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
            } catch (OutOfMemoryException e) {
                if (attempt > maxAttempts || !callback.makeRoom(e, attempt)) {
                    throw e;
                }
            }
        }
    }
}
