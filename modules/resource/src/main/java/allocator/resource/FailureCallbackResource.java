package allocator.resource;

import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Asks somebody to make room when memory runs out, and tries again, a bounded number of times. Other failures pass.
 *
 * <p>It hears what stands below it: put it above {@link BudgetResource} to hear of refused budgets too.
 */
public final class FailureCallbackResource extends ResourceDecorator {
    private final int maxAttempts;
    private final FailureCallback callback;

    /** Is asked to make room. */
    @FunctionalInterface
    public interface FailureCallback {
        /**
         * Makes room, or gives up. Runs on the thread of the request, without any lock of this module held.
         *
         * @param failure what the upstream said, with its numbers
         * @param attempt which call this is for the request, from 1
         * @return whether to try again
         */
        boolean makeRoom(OutOfMemoryException failure, int attempt);
    }

    /**
     * Adds a callback to a resource.
     *
     * @param upstream the resource
     * @param maxAttempts how often the callback is asked for one request, at least 1
     * @param callback who is asked
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
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        for (int attempt = 1; ; attempt++) {
            try {
                return takeUpstream(byteSize, byteAlignment, stream);
            } catch (OutOfMemoryException e) {
                if (attempt > maxAttempts || !callback.makeRoom(e, attempt)) {
                    throw e;
                }
            }
        }
    }

    @Override
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        giveBackUpstream(address, byteSize, byteAlignment, stream);
    }
}
