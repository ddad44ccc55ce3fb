package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.PoolAttribute;
import allocator.resource.MemoryKind;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;

/**
 * Device memory of a pool of its own, allocated and deallocated in the order of a stream: the proposal's
 * {@code cuda_async_resource}.
 *
 * <p>The pool keeps what is freed, whatever is synchronized, until {@link #shrink}; with the driver's default it would
 * give everything back at each synchronization. Without a stream, an allocation is usable at once anywhere and a
 * deallocation needs all work done; both use a stream of this resource, and the allocation waits for it, which is empty
 * but for them. What is deallocated is not checked but by the driver.
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
     * Makes a resource with a pool that holds nothing.
     *
     * @param driver the driver
     * @param device the device's ordinal, its context retained
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
            driver.pools().memPoolSetAttribute(device, pool, PoolAttribute.RELEASE_THRESHOLD, Long.MAX_VALUE);
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
        final long address = take(byteSize, byteAlignment, ownStream);
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
        return take(byteSize, byteAlignment, stream.handle());
    }

    private long take(long byteSize, long byteAlignment, long stream) {
        CudaCalls.requireValid(byteSize, byteAlignment);
        if (byteSize == 0) {
            return 0;
        }
        try {
            return pools.memAllocFromPoolAsync(device, pool, byteSize, stream);
        } catch (CudaException e) {
            throw CudaCalls.refusal(driver, memory, byteSize, e);
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

    /** The driver hands memory on when it knows that the free has taken effect. */
    @Override
    public boolean isOrderedByDevice() {
        return true;
    }

    /**
     * Gives back to the device what the pool holds and nobody uses. Memory whose deallocation its stream has not come
     * to yet stays.
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
     * Destroys the pool. Memory that is still allocated stays valid until it is deallocated by other means. A second
     * call does nothing.
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
