package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.PoolAttribute;
import allocator.cuda.memory.PoolSettings;
import allocator.provider.support.BlockCounters;
import allocator.provider.support.LiveSizes;
import allocator.provider.support.StackReserve;
import allocator.provider.support.UseGuard;
import allocator.resource.MemoryKind;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

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
 *
 * <p>A closed stream is rejected with {@link IllegalStateException} before anything changes. No call waits for a close
 * that is under way, since the stream's work may wait for the calling thread. Memory of a stream that has ended is
 * deallocated without a stream.
 *
 * <p>A stream that is being captured into a graph is rejected with {@link allocator.spi.StreamCaptureException}: the
 * driver would give it memory that the graph owns. The capture goes on.
 *
 * <p>Memory of a call that failed is given back; what the driver does not take back then, {@link #shrink} and
 * {@link #close} try again, unless an allocation is under way. A deallocation that fails has changed nothing and can be
 * repeated. A closed resource makes no call of the driver.
 */
public final class CudaAsyncResource implements StreamOrderedMemoryResource {
    private final CudaDriver driver;
    private final CudaPools pools;
    private final CudaStreams streams;
    private final int device;
    private final MemoryInfo memory;
    private final long pool;
    private final long ownStream;

    /** Memory of allocations that failed, which the driver did not take back. Guarded by itself. */
    private final LiveSizes unreturned = new LiveSizes();

    /** Allocations under way. This and what follows: guarded by {@link #unreturned}. */
    private int arriving;

    private final BlockCounters counters = new BlockCounters();
    private long numShrinkages;
    private long peakBytesHeld;

    private final UseGuard guard = new UseGuard();

    /** What a close has left to do. Guarded by this. */
    private boolean hasPool = true;

    private boolean hasStream = true;

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
        return allocate(byteSize, byteAlignment, false);
    }

    @Override
    public long reserve(long byteSize, long byteAlignment) {
        return allocate(byteSize, byteAlignment, true);
    }

    private long allocate(long byteSize, long byteAlignment, boolean isReserve) {
        StackReserve.touch();
        guard.enter(this);
        try {
            return allocateInside(byteSize, byteAlignment, isReserve);
        } finally {
            guard.exit();
        }
    }

    /** Begins an allocation, with room for its memory if it fails. */
    private void begin() {
        synchronized (unreturned) {
            unreturned.ensureRoom(arriving + 1);
            arriving++;
        }
    }

    private long allocateInside(long byteSize, long byteAlignment, boolean isReserve) {
        begin();
        long address = 0;
        boolean isReady = false;
        try {
            address = allocateOn(byteSize, byteAlignment, ownStream);
            if (address != 0) {
                streams.streamSynchronize(device, ownStream);
            }
            isReady = true;
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        } finally {
            arrived(address, byteSize, isReady, isReserve);
        }
        return address;
    }

    /** Ends an allocation: of a block, or of memory that goes back since the call failed. */
    private void arrived(long address, long byteSize, boolean isReady, boolean isReserve) {
        synchronized (unreturned) {
            arriving--;
            if (address != 0 && !unreturned.isEmpty()) {
                // What the driver hands out, it has taken back before, whatever it reported then.
                unreturned.removeOverlapping(address, byteSize);
            }
            if (address != 0 && isReady) {
                counters.allocated(byteSize, byteSize);
                if (isReserve) {
                    counters.reserved();
                }
            } else if (address != 0) {
                unreturned.put(address, byteSize);
                giveBack(address);
            }
        }
    }

    /** Tries to give unreturned memory back; if that fails, it stays. */
    private void giveBack(long address) {
        try {
            pools.memFreeAsync(device, address, ownStream);
            unreturned.remove(address);
        } catch (CudaException e) {
            // It stays for the next time.
        }
    }

    /**
     * Tries to give back what is unreturned; what fails stays. Nothing is tried while an allocation is under way, which
     * may have got the same memory from the driver. Returns whether something was tried.
     */
    private boolean returnAgain() {
        synchronized (unreturned) {
            if (unreturned.isEmpty() || arriving > 0) {
                return false;
            }
            unreturned.forEach((address, byteSize) -> giveBack(address));
            return true;
        }
    }

    @Override
    public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        StackReserve.touchShallow();
        guard.enter(this);
        try {
            final long handle = CudaCalls.handle(stream, streams, device, "allocation");
            begin();
            long address = 0;
            try {
                address = allocateOn(byteSize, byteAlignment, handle);
            } finally {
                arrived(address, byteSize, true, false);
            }
            return address;
        } finally {
            guard.exit();
        }
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
            free(address, byteSize, null);
        }
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        if (address != 0) {
            free(address, byteSize, stream);
        }
    }

    private void free(long address, long byteSize, @Nullable SyncStream stream) {
        StackReserve.touchShallow();
        guard.enter(this);
        try {
            final long handle = stream == null ? ownStream : CudaCalls.handle(stream, streams, device, "deallocation");
            pools.memFreeAsync(device, address, handle);
            synchronized (unreturned) {
                counters.freed(byteSize, byteSize);
            }
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        } finally {
            guard.exit();
        }
    }

    /** Returns {@code true}: the driver reuses memory once it knows that the free has taken effect. */
    @Override
    public boolean isOrderedByDevice() {
        return true;
    }

    /**
     * Returns the pool's unused memory to the device. Memory whose stream has not reached the deallocation yet stays.
     *
     * @throws DeviceException if the driver fails
     * @throws AllocatorClosedException if this resource is closed
     */
    @Override
    public ShrinkReport shrink() {
        StackReserve.touch();
        guard.enter(this);
        try {
            final long before = held();
            if (returnAgain()) {
                streams.streamSynchronize(device, ownStream);
            }
            pools.memPoolTrimTo(device, pool, 0);
            final long after = held();
            synchronized (unreturned) {
                numShrinkages++;
            }
            return new ShrinkReport(before - after, 0, after, 0, 0);
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        } finally {
            guard.exit();
        }
    }

    private long held() {
        return attribute(PoolAttribute.RESERVED_MEM_CURRENT);
    }

    private long attribute(PoolAttribute attribute) {
        return pools.memPoolGetAttribute(device, pool, attribute);
    }

    /**
     * {@inheritDoc}
     *
     * <p>Blocks are counted with the sizes that the calls pass, and a deallocation counts at once, also if its stream
     * has not reached it. Bytes held and their peak are the driver's own counters. Not maintained, and {@code 0}, are
     * the largest free chunk, extensions, and failed allocations, which a {@code ResourceAllocator} above counts.
     *
     * @throws DeviceException if the driver fails
     * @throws AllocatorClosedException if this resource is closed
     */
    @Override
    public Optional<AllocatorStats> stats() {
        StackReserve.touch();
        guard.enter(this);
        try {
            final long reserved = held();
            final long peak = attribute(PoolAttribute.RESERVED_MEM_HIGH);
            synchronized (unreturned) {
                final long inUse = counters.bytesInUse();
                final long held = Math.max(reserved, inUse); // blocks since the driver was asked are held as well
                peakBytesHeld = Math.max(peakBytesHeld, Math.max(peak, held));
                return Optional.of(counters.toStats()
                        .held(held, peakBytesHeld)
                        .free(held - inUse, 0)
                        .regions(0, numShrinkages)
                        .build());
            }
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        } finally {
            guard.exit();
        }
    }

    /**
     * Waits for calls under way and for the private stream, then destroys the pool and the stream. Every later call but
     * this one throws {@link AllocatorClosedException}, also a deallocation and also if the close fails. Deallocate all
     * memory first: what is live stays allocated, and the driver keeps its pool, until the device's context ends. A
     * second call does nothing, unless the first failed.
     *
     * @throws DeviceException if the driver fails; another call does what is left
     */
    @Override
    public void close() {
        StackReserve.touch();
        guard.close();
        end();
    }

    private synchronized void end() {
        try {
            if (hasPool) {
                returnAgain();
                streams.streamSynchronize(device, ownStream);
                requireReturned();
                pools.memPoolDestroy(device, pool);
                hasPool = false;
            }
            if (hasStream) {
                streams.streamDestroy(device, ownStream);
                hasStream = false;
            }
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    private void requireReturned() {
        synchronized (unreturned) {
            if (!unreturned.isEmpty()) {
                throw new DeviceException(
                        "the driver did not take back " + unreturned.totalBytes() + " bytes of " + memory, null);
            }
        }
    }

    @Override
    public String toString() {
        return memory.toString();
    }
}
