package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.PoolAttribute;
import allocator.provider.support.Limit;
import allocator.provider.support.Sizes;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/**
 * A memory pool of the driver, with allocations and frees ordered on the caller's stream.
 *
 * <p>The driver finds memory, and knows from its own order of streams which of them may reuse freed memory. This class
 * adds what the contract asks for beyond that: live blocks with size and stream ({@link PoolBlocks}), the limit and a
 * retry ({@link PoolSource}).
 *
 * <p><b>Without a stream.</b> Such memory comes from a stream of the pool's own, which is synchronized before the
 * address is returned, so that any stream may use it.
 *
 * <p><b>Closed streams.</b> Memory of a stream that is closed when the memory is freed is freed on the pool's own
 * stream, since all work of the closed one is done. If that is not known, the memory is set aside until the pool is
 * closed.
 */
public final class DriverPool implements CudaAllocator, StreamAwareAllocator, ShrinkableAllocator {
    private final CudaDevice device;
    private final CudaDriver driver;
    private final CudaPools pools;
    private final CudaStreams streams;
    private final int ordinal;
    private final MemoryInfo info;
    private final AllocatorOptions effectiveOptions;
    private final long bytesToKeepOnShrink;
    private final long ownStream;
    private final long pool;
    private final Limit limit;
    private final PoolBlocks blocks;
    private final PoolSource source;
    private final UseGuard guard = new UseGuard();

    private DriverPool(
            CudaDevice device,
            long ownStream,
            long pool,
            Limit limit,
            PoolSettings settings,
            AllocatorOptions options) {
        this.device = device;
        this.ownStream = ownStream;
        this.pool = pool;
        this.limit = limit;
        driver = device.driver();
        pools = driver.pools();
        streams = driver.streams();
        ordinal = device.ordinal();
        info = device.defaultMemory();
        blocks = new PoolBlocks(info);
        source = new PoolSource(device, pool, limit, blocks);
        bytesToKeepOnShrink = settings.bytesToKeepOnShrink();
        effectiveOptions = limit.isLimited()
                ? options.with(Limit.KEY.name(), Long.toString(limit.bytes()), options.origin(Limit.KEY.name()))
                : options;
    }

    /**
     * Creates a pool for a device's default memory.
     *
     * @param device the device, with a context
     * @param settings the settings
     * @param options what {@link #effectiveOptions} returns, apart from the rounding of the limit
     * @return the pool; holds no memory yet
     * @throws CudaException if the driver fails, for instance because the device has no pools; nothing is left behind
     */
    public static DriverPool create(CudaDevice device, PoolSettings settings, AllocatorOptions options) {
        final CudaDriver driver = device.driver();
        final int ordinal = device.ordinal();
        final long ownStream = driver.streams().streamCreate(ordinal);
        try {
            final long pool = driver.pools().memPoolCreate(ordinal);
            try {
                driver.pools()
                        .memPoolSetAttribute(
                                ordinal, pool, PoolAttribute.RELEASE_THRESHOLD, settings.releaseThreshold());
                final Limit limit = PoolSource.rounded(settings.limit(), driver, ordinal, pool, ownStream);
                return new DriverPool(device, ownStream, pool, limit, settings, options);
            } catch (CudaException e) {
                DriverCalls.insist(() -> driver.pools().memPoolDestroy(ordinal, pool));
                throw e;
            }
        } catch (CudaException e) {
            DriverCalls.insist(() -> driver.streams().streamDestroy(ordinal, ownStream));
            throw e;
        }
    }

    @Override
    public long alloc(long byteSize) {
        return allocWithoutStream(byteSize, false);
    }

    @Override
    public long reserve(long byteSize) {
        return allocWithoutStream(byteSize, true);
    }

    private long allocWithoutStream(long byteSize, boolean isReserve) {
        enter();
        try {
            if (isEmpty(byteSize)) {
                return 0;
            }
            final long address = source.take(byteSize, ownStream);
            try {
                streams.streamSynchronize(ordinal, ownStream);
            } catch (CudaException e) {
                DriverCalls.insist(() -> pools.memFreeAsync(ordinal, address, ownStream));
                throw e;
            }
            if (isReserve) {
                blocks.reserved(address, byteSize);
            } else {
                blocks.allocated(address, byteSize, null);
            }
            return address;
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    /** Checks the size; zero is the empty allocation. */
    private static boolean isEmpty(long byteSize) {
        return Sizes.roundUp(byteSize, OptionKey.SIZE_GRANULARITY) == 0;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        if (!(stream instanceof CudaSyncStream cudaStream)
                || cudaStream.device().ordinal() != ordinal) {
            throw new IllegalArgumentException(stream + " is not a stream of " + device);
        }
        enter();
        try {
            cudaStream.use();
            try {
                if (isEmpty(byteSize)) {
                    return 0;
                }
                final long address = source.take(byteSize, cudaStream.handle());
                blocks.allocated(address, byteSize, cudaStream);
                return address;
            } finally {
                cudaStream.endUse();
            }
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    @Override
    public void free(long address) {
        if (address == 0) {
            return;
        }
        enter();
        try {
            final CudaSyncStream stream = blocks.remove(address);
            if (stream == null) {
                giveBack(address, ownStream);
            } else {
                giveBack(address, stream);
            }
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    private void giveBack(long address, CudaSyncStream stream) {
        if (stream.tryUse()) {
            try {
                giveBack(address, stream.handle());
            } finally {
                stream.endUse();
            }
        } else if (stream.awaitEnd()) {
            giveBack(address, ownStream);
        } else {
            blocks.quarantine(address);
        }
    }

    /** As {@link DriverCalls#insist}, without an object on the usual path. */
    private void giveBack(long address, long stream) {
        try {
            pools.memFreeAsync(ordinal, address, stream);
        } catch (CudaException first) {
            try {
                pools.memFreeAsync(ordinal, address, stream);
            } catch (CudaException second) {
                second.addSuppressed(first);
                throw second;
            }
        }
    }

    @Override
    public ShrinkReport shrink() {
        enter();
        try {
            final long before = source.bytesHeld();
            streams.streamSynchronize(ordinal, ownStream);
            pools.memPoolTrimTo(ordinal, pool, bytesToKeepOnShrink);
            blocks.shrunk();
            final long after = source.bytesHeld();
            return new ShrinkReport(Math.max(0, before - after), 0, after, 0, 0);
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>Bytes held and their peak are the driver's own counters. A pool maps its pages where it needs them, so all
     * free memory counts as one chunk.
     */
    @Override
    public AllocatorStats stats() {
        enter();
        try {
            final long reserved = source.bytesHeld();
            return blocks.toStats(limit.toStats(), reserved, source.peakBytesHeld(reserved));
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    /** The driver reuses memory for another stream once it knows that the free has taken effect. */
    @Override
    public boolean isOrderedByDevice() {
        return true;
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.SHRINK;
    }

    private void enter() {
        if (!guard.tryEnter()) {
            throw new AllocatorClosedException(this + " is closed");
        }
    }

    @Override
    public void destroy() {
        if (!guard.close()) {
            return;
        }
        final DriverCalls.All calls = new DriverCalls.All();
        calls.insist(() -> driver.devices().ctxSynchronize(ordinal));
        for (long address : blocks.all()) {
            calls.insist(() -> pools.memFreeAsync(ordinal, address, ownStream));
        }
        calls.insist(() -> streams.streamSynchronize(ordinal, ownStream));
        calls.insist(() -> pools.memPoolDestroy(ordinal, pool));
        calls.insist(() -> streams.streamDestroy(ordinal, ownStream));
        calls.throwIfFailed();
    }

    @Override
    public String toString() {
        return "the pool of " + info;
    }
}
