package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;

/**
 * A pool of the driver, and a stream on which memory without a stream is allocated and freed. Both are created and
 * destroyed by one thread at a time; a call that fails leaves what there is to {@link #destroy}, which can be repeated.
 */
final class PoolHandles {
    private final CudaDevice device;
    private final CudaPools pools;
    private final CudaStreams streams;
    private final int ordinal;
    private long stream;
    private long pool;

    /** The block that measures the granularity. */
    private long probe;

    PoolHandles(CudaDevice device) {
        this.device = device;
        pools = device.driver().pools();
        streams = device.driver().streams();
        ordinal = device.ordinal();
    }

    /**
     * Creates stream and pool.
     *
     * @throws CudaException if the driver fails
     */
    void create(PoolSettings settings) {
        stream = streams.streamCreate(ordinal);
        pool = pools.memPoolCreate(ordinal);
        pools.memPoolSetAttribute(ordinal, pool, PoolAttribute.RELEASE_THRESHOLD, settings.releaseThreshold());
        for (int peer : settings.peers()) {
            if (peer != ordinal) {
                pools.memPoolSetAccess(ordinal, pool, peer, MemoryAccess.READ_WRITE);
            }
        }
    }

    long stream() {
        return stream;
    }

    long pool() {
        return pool;
    }

    /** Returns how much the driver takes for the smallest allocation, which is made and freed. */
    long granularity() {
        probe = pools.memAllocFromPoolAsync(ordinal, pool, 1, stream);
        final long granularity = pools.memPoolGetAttribute(ordinal, pool, PoolAttribute.RESERVED_MEM_CURRENT);
        freeProbe();
        DriverCalls.insist(() -> device.synchronizeStream(stream));
        DriverCalls.insist(() -> pools.memPoolTrimTo(ordinal, pool, 0));
        return granularity;
    }

    private void freeProbe() {
        if (probe != 0) {
            DriverCalls.insist(() -> pools.memFreeAsync(ordinal, probe, stream));
            probe = 0;
        }
    }

    /** Returns whether there is something to destroy. */
    boolean isOpen() {
        return stream != 0;
    }

    /**
     * Destroys pool and stream, once all memory of the pool is freed. Does nothing if there are none.
     *
     * @throws CudaException if the driver fails; another call tries again
     */
    void destroy() {
        freeProbe();
        if (pool != 0) {
            DriverCalls.insist(() -> device.synchronizeStream(stream));
            DriverCalls.insist(() -> pools.memPoolDestroy(ordinal, pool));
            pool = 0;
        }
        if (stream != 0) {
            DriverCalls.insist(() -> streams.streamDestroy(ordinal, stream));
            stream = 0;
        }
    }
}
