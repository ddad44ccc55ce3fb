package allocator.resource;

import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Lets allocations fail on purpose, to test what stands above. A request that is to fail never reaches the upstream.
 */
public final class FaultInjectionResource extends ResourceDecorator {
    private final FaultPlan plan;
    private final AtomicLong requests = new AtomicLong();

    /** Says which requests fail. Safe for use by several threads. */
    @FunctionalInterface
    public interface FaultPlan {
        /**
         * Whether a request fails.
         *
         * @param byteSize its size in bytes
         * @param request its number, from 1
         * @return whether it fails
         */
        boolean fails(long byteSize, long request);

        /**
         * Lets one request fail.
         *
         * @param number its number, from 1
         * @return the plan
         */
        static FaultPlan onRequest(long number) {
            return (byteSize, request) -> request == number;
        }

        /**
         * Lets requests fail by chance, the same ones for the same seed.
         *
         * @param probability from 0, none, to 1, all
         * @param seed the seed
         * @return the plan
         */
        static FaultPlan byChance(double probability, long seed) {
            return (byteSize, request) ->
                    new SplittableRandom(seed ^ request * 0x9E37_79B9_7F4A_7C15L).nextDouble() < probability;
        }

        /**
         * Lets large requests fail.
         *
         * @param least the smallest size that fails, in bytes
         * @return the plan
         */
        static FaultPlan fromSize(long least) {
            return (byteSize, request) -> byteSize >= least;
        }
    }

    /**
     * Injects faults above a resource.
     *
     * @param upstream the resource
     * @param plan which requests fail
     */
    public FaultInjectionResource(MemoryResource upstream, FaultPlan plan) {
        super(upstream);
        this.plan = plan;
    }

    @Override
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long request = requests.incrementAndGet();
        if (plan.fails(byteSize, request)) {
            throw new OutOfMemoryException(
                    "Request " + request + " fails on purpose",
                    Shortage.ofDevice(memory(), byteSize, OutOfMemoryException.UNKNOWN));
        }
        return takeUpstream(byteSize, byteAlignment, stream);
    }

    @Override
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        giveBackUpstream(address, byteSize, byteAlignment, stream);
    }
}
