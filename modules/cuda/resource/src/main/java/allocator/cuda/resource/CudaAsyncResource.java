package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.PoolAttribute;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.PoolSettings;
import allocator.provider.support.BlockLedger;
import allocator.provider.support.UseGuard;
import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.SameDevice;
import allocator.resource.MemoryKind;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Stream-ordered device memory from a driver pool of its own: the CUDA proposal's {@code cuda_async_resource}.
 *
 * <p>The pool caches freed memory until {@link #shrink}. Its release threshold is the default of
 * {@link PoolSettings#RELEASE_THRESHOLD}; with the driver's own default, a pool returns all free memory at each
 * synchronization.
 *
 * <p>Calls without a stream use a private stream of this resource: an allocation waits for that stream, which has no
 * other work, and is then usable anywhere; a deallocation requires that all work using the memory is complete. Wrong
 * addresses and sizes are rejected before they reach the driver.
 *
 * <p>A closed stream is rejected with {@link IllegalStateException} before anything changes. No call waits for a close
 * that is under way, since the stream's work may wait for the calling thread. Memory of a stream that has ended is
 * deallocated without a stream.
 *
 * <p>A stream that is being captured into a graph is rejected with {@link allocator.spi.StreamCaptureException}: the
 * driver would give it memory that the graph owns. The capture goes on.
 *
 * <p>A deallocation takes effect, and memory of an allocation that failed is given back. What the driver does not take
 * back is held, and offered again on the same stream by {@link #shrink}, by {@link #close}, and before a request fails.
 * A closed resource makes no call of the driver.
 */
public final class CudaAsyncResource implements StreamOrderedMemoryResource {
    private final CudaDriver driver;
    private final CudaPools pools;
    private final CudaStreams streams;
    private final int device;
    private final MemoryInfo memory;
    private final long pool;
    private final long ownStream;

    /** The blocks, and what the driver did not take back, each with the stream that orders its return. */
    private final BlockLedger<SyncStream> ledger;

    /** Sets aside what the pool holds, where the device has a limit; {@code null} if nothing does. */
    private final @Nullable Budget account;

    private final Object accountLock = new Object();

    private final AtomicLong numShrinkages = new AtomicLong();
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
        this(driver, device, null);
    }

    /**
     * Creates a resource whose pool holds no more than a budget grants, while that of the device has a limit: what is
     * held beyond the live blocks is set aside, and goes back before a request fails.
     *
     * @param account a child of the device's budget, to which users of this resource charge their requests first
     */
    CudaAsyncResource(CudaDriver driver, int device, @Nullable Budget account) {
        this.account = account;
        this.driver = driver;
        this.pools = driver.pools();
        this.streams = driver.streams();
        this.device = device;
        this.memory = CudaCalls.memory("CudaAsync", device, MemoryType.DEFAULT);
        this.ledger = new BlockLedger<>(memory, this::giveBack);
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
        return allocate(byteSize, byteAlignment, null, false);
    }

    @Override
    public long reserve(long byteSize, long byteAlignment) {
        return allocate(byteSize, byteAlignment, null, true);
    }

    @Override
    public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        return allocate(byteSize, byteAlignment, stream, false);
    }

    private long allocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        guard.enter(this);
        try {
            if (stream != null) {
                SameDevice.require(stream, memory);
            }
            return takeWithin(byteSize, byteAlignment, stream, isReserve);
        } catch (OutOfMemoryException e) {
            if (ledger.returnAgain() == 0) {
                throw e;
            }
            return takeWithin(byteSize, byteAlignment, stream, isReserve);
        } finally {
            guard.exit();
        }
    }

    /** Allocates; under a limit one thread at a time, and again after what the pool caches has gone back. */
    private long takeWithin(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        if (account == null || !Budget.ofMemory(memory).isLimited()) {
            return take(byteSize, byteAlignment, stream, isReserve, null);
        }
        synchronized (accountLock) {
            try {
                return take(byteSize, byteAlignment, stream, isReserve, account);
            } catch (OutOfMemoryException e) {
                trim(stream);
            }
            boolean isServed = false;
            try {
                final long address = take(byteSize, byteAlignment, stream, isReserve, account);
                isServed = true;
                return address;
            } finally {
                if (!isServed) {
                    trim(stream);
                }
            }
        }
    }

    /** Returns to the device what was freed on a stream so far, and what else is free, as far as the driver does it. */
    private void trim(@Nullable SyncStream stream) {
        try {
            streams.streamSynchronize(device, stream == null ? ownStream : CudaCalls.handle(stream));
            pools.memPoolTrimTo(device, pool, 0);
        } catch (CudaException e) {
            // The failure of the allocation is the one to report; the next trim returns it.
        }
        settle();
    }

    /** Sets aside what the pool holds. If that is not known, or more than is granted, what was set aside stays. */
    private void settle() {
        if (account != null) {
            synchronized (accountLock) {
                try {
                    account.reserve(held());
                } catch (CudaException e) {
                    // The next call that the driver serves settles it.
                }
            }
        }
    }

    /** Requires that the device's budget grants what the pool holds with some bytes more. */
    private void requireGranted(Budget granting, long more, long byteSize) {
        final Budget.Status rejection = granting.reserve(held() + more);
        if (rejection != null) {
            throw granting.outOfMemory(rejection, memory, byteSize, "");
        }
    }

    private long take(
            long byteSize,
            long byteAlignment,
            @Nullable SyncStream stream,
            boolean isReserve,
            @Nullable Budget granting) {
        final long handle = stream == null ? ownStream : CudaCalls.handle(stream, streams, device, "allocation");
        ledger.begin();
        long address = 0;
        boolean isReady = false;
        try {
            if (granting != null) {
                final long free = held() - attribute(PoolAttribute.USED_MEM_CURRENT);
                requireGranted(granting, Math.max(0, byteSize - free), byteSize);
            }
            address = allocateOn(byteSize, byteAlignment, handle);
            if (address != 0 && stream == null) {
                streams.streamSynchronize(device, ownStream);
            }
            if (granting != null) {
                requireGranted(granting, 0, byteSize);
            }
            isReady = true;
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        } finally {
            if (isReady || address == 0) {
                ledger.end(address, byteSize, stream, isReserve);
            } else {
                ledger.rollBack(address, byteSize, stream);
            }
        }
        return address;
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
        guard.enter(this);
        try {
            if (stream != null) {
                SameDevice.require(stream, memory);
                CudaCalls.freeingHandle(stream, streams, device);
            }
            CudaCalls.requireSize(ledger.sizeOfLive(address), address, byteSize);
            ledger.free(address, stream);
        } finally {
            guard.exit();
        }
    }

    /** The work of a stream that has ended is done, so its memory needs no order. */
    private boolean giveBack(long address, long byteSize, @Nullable SyncStream stream) {
        if (stream == null || stream.hasEnded()) {
            pools.memFreeAsync(device, address, ownStream);
            return true;
        }
        if (stream instanceof CudaSyncStream own) {
            if (!own.tryUse()) {
                return false;
            }
            try {
                giveBackOn(own, address);
            } finally {
                own.endUse();
            }
            return true;
        }
        giveBackOn(stream, address);
        return true;
    }

    private void giveBackOn(SyncStream stream, long address) {
        pools.memFreeAsync(device, address, CudaCalls.freeingHandle(stream, streams, device));
    }

    /** Returns {@code true}: the driver reuses memory once it knows that the free has taken effect. */
    @Override
    public boolean isOrderedByDevice() {
        return true;
    }

    /**
     * Returns the pool's unused memory to the device, after a wait for the private stream. Memory whose stream has not
     * reached the deallocation yet stays.
     *
     * @throws DeviceException if the driver fails
     * @throws AllocatorClosedException if this resource is closed
     */
    @Override
    public ShrinkReport shrink() {
        guard.enter(this);
        try {
            final long before = held();
            ledger.returnAgain();
            streams.streamSynchronize(device, ownStream); // the driver notices which frees have taken effect
            pools.memPoolTrimTo(device, pool, 0);
            settle();
            final long after = held();
            numShrinkages.incrementAndGet();
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
     * <p>Blocks are counted with the sizes that were requested, and a deallocation counts at once, also if its stream
     * has not reached it. Bytes held and their peak are the driver's own counters. Not maintained, and {@code 0}, are
     * the largest free chunk, extensions, and failed allocations, which a {@code ResourceAllocator} above counts.
     *
     * @throws DeviceException if the driver fails
     * @throws AllocatorClosedException if this resource is closed
     */
    @Override
    public Optional<AllocatorStats> stats() {
        guard.enter(this);
        try {
            final long reserved = held();
            final long peak = attribute(PoolAttribute.RESERVED_MEM_HIGH);
            return Optional.of(ledger.stats(AllocatorStats.UNLIMITED, reserved, peak, numShrinkages.get()));
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
     * @throws DeviceException if the driver fails; another call tries again
     */
    @Override
    public void close() {
        guard.close();
        end();
    }

    private synchronized void end() {
        try {
            if (hasPool) {
                ledger.returnAgain();
                streams.streamSynchronize(device, ownStream);
                requireReturned();
                pools.memPoolDestroy(device, pool);
                hasPool = false;
                if (account != null) {
                    account.reserve(0);
                }
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
        final long left = ledger.unreturnedBytes();
        if (left > 0) {
            throw new DeviceException("the driver did not take back " + left + " bytes of " + memory, null);
        }
    }

    @Override
    public String toString() {
        return memory.toString();
    }
}
