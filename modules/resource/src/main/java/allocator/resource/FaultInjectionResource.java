package allocator.resource;

import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Injects allocation failures, to test the resources above. A request that fails never reaches the upstream. */
public final class FaultInjectionResource extends ResourceDecorator {
    private final FaultPlan plan;
    private final AtomicLong requests = new AtomicLong();

    /** Selects the requests that fail. Thread-safe. */
    @FunctionalInterface
    public interface FaultPlan {
        /**
         * {@return whether a request fails}
         *
         * @param byteSize its size in bytes
         * @param request its number, from 1
         */
        boolean fails(long byteSize, long request);

        /**
         * {@return a plan that fails one request}
         *
         * @param number its number, from 1
         */
        static FaultPlan onRequest(long number) {
            return (byteSize, request) -> request == number;
        }

        /**
         * {@return a plan that fails random requests, the same ones for the same seed}
         *
         * @param probability the probability of a failure, from 0 to 1
         * @param seed the seed
         */
        static FaultPlan byChance(double probability, long seed) {
            return (byteSize, request) ->
                    new SplittableRandom(seed ^ request * 0x9E37_79B9_7F4A_7C15L).nextDouble() < probability;
        }

        /**
         * {@return a plan that fails large requests}
         *
         * @param least the smallest size that fails, in bytes
         */
        static FaultPlan fromSize(long least) {
            return (byteSize, request) -> byteSize >= least;
        }
    }

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     * @param plan selects the requests that fail
     */
    public FaultInjectionResource(MemoryResource upstream, FaultPlan plan) {
        super(upstream);
        this.plan = plan;
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        final long request = requests.incrementAndGet();
        if (plan.fails(byteSize, request)) {
            throw new OutOfMemoryException(
                    "Injected failure of request " + request,
                    // Whether a resource below has a limit is not known here.
                    new Shortage(
                            memory(),
                            byteSize,
                            byteSize,
                            OutOfMemoryException.UNKNOWN,
                            OutOfMemoryException.UNKNOWN,
                            OutOfMemoryException.UNKNOWN,
                            OutOfMemoryException.UNKNOWN,
                            OutOfMemoryException.UNKNOWN));
        }
        return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
    }
}
