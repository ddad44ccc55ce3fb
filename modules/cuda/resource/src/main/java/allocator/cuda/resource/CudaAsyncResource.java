package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.PoolAttribute;
import allocator.cuda.memory.PoolSettings;
import allocator.resource.MemoryKind;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;

/**
 * Stream-ordered device memory from a driver pool of its own: the CUDA proposal's {@code cuda_async_resource}.
 *
 * <p>The pool caches freed memory until {@link #shrink}. Its release threshold is the default of
 * {@link PoolSettings#RELEASE_THRESHOLD}; with the driver's own default, a pool returns all free memory at each
 * synchronization.
 *
 * <p>Calls without a stream use a private stream of this resource: an allocation waits for that stream, which has no
 * other work, and is then usable anywhere; a deallocation requires that all work using the memory is complete. Only the
 * driver checks addresses.
 */
public final class CudaAsyncResource implements StreamOrderedMemoryResource {
    private final CudaDriver driver;
    private final CudaPools pools;
    private final CudaStreams streams;
    private final int device;
    private final MemoryInfo memory;
    private final long pool;
    private final long ownStream;
    private boolean isClosed;

    /**
     * Creates a resource with an empty pool.
     *
     * @param driver the driver
     * @param device the device's ordinal; its primary context must be retained
     * @throws DeviceException if the device has no pools, or the driver fails
     */
    public CudaAsyncResource(CudaDriver driver, int device) {
        this.driver = driver;
        this.pools = driver.pools();
        this.streams = driver.streams();
        this.device = device;
        this.memory = CudaCalls.memory("CudaAsync", device, MemoryType.DEFAULT);
        try {
            pool = pools.memPoolCreate(device);
            ownStream = createStream(driver, device, pool);
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    private static long createStream(CudaDriver driver, int device, long pool) {
        boolean isCreated = false;
        try {
            driver.pools()
                    .memPoolSetAttribute(
                            device,
                            pool,
                            PoolAttribute.RELEASE_THRESHOLD,
                            PoolSettings.RELEASE_THRESHOLD.defaultValue());
            final long stream = driver.streams().streamCreate(device);
            isCreated = true;
            return stream;
        } finally {
            if (!isCreated) {
                driver.pools().memPoolDestroy(device, pool);
            }
        }
    }

    @Override
    public MemoryInfo memory() {
        return memory;
    }

    @Override
    public MemoryKind kind() {
        return MemoryKind.DEVICE;
    }

    @Override
    public long allocate(long byteSize, long byteAlignment) {
        final long address = allocateOn(byteSize, byteAlignment, ownStream);
        if (address != 0) {
            try {
                streams.streamSynchronize(device, ownStream);
            } catch (CudaException e) {
                free(address, ownStream);
                throw CudaCalls.failure(e);
            }
        }
        return address;
    }

    @Override
    public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        return allocateOn(byteSize, byteAlignment, stream.handle());
    }

    private long allocateOn(long byteSize, long byteAlignment, long stream) {
        CudaCalls.requireValid(byteSize, byteAlignment);
        if (byteSize == 0) {
            return 0;
        }
        try {
            return pools.memAllocFromPoolAsync(device, pool, byteSize, stream);
        } catch (CudaException e) {
            throw CudaCalls.allocationFailure(driver, memory, byteSize, e);
        }
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        if (address != 0) {
            free(address, ownStream);
        }
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        if (address != 0) {
            free(address, stream.handle());
        }
    }

    private void free(long address, long stream) {
        try {
            pools.memFreeAsync(device, address, stream);
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    /** Returns {@code true}: the driver reuses memory once it knows that the free has taken effect. */
    @Override
    public boolean isOrderedByDevice() {
        return true;
    }

    /**
     * Returns the pool's unused memory to the device. Memory whose stream has not reached the deallocation yet stays.
     */
    @Override
    public ShrinkReport shrink() {
        try {
            final long before = held();
            pools.memPoolTrimTo(device, pool, 0);
            final long after = held();
            return new ShrinkReport(before - after, 0, after, 0, 0);
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    private long held() {
        return pools.memPoolGetAttribute(device, pool, PoolAttribute.RESERVED_MEM_CURRENT);
    }

    /**
     * Waits for the private stream, then destroys it and the pool. Live allocations stay valid, and can be deallocated
     * on a stream; the driver frees the pool with the last one. A second call does nothing.
     *
     * @throws DeviceException if the driver fails
     */
    @Override
    public synchronized void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        try {
            streams.streamSynchronize(device, ownStream);
            streams.streamDestroy(device, ownStream);
            pools.memPoolDestroy(device, pool);
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    @Override
    public String toString() {
        return memory.toString();
    }
}
