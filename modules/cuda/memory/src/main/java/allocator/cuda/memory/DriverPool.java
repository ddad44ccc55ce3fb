package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.provider.support.BlockLedger;
import allocator.provider.support.Limit;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.UseGuard;
import allocator.provider.support.internal.Endings;
import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.Sizes;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A memory pool of the driver, with allocations and frees ordered on the caller's stream.
 *
 * <p>The driver finds memory, and knows from its own order of streams which of them may reuse freed memory. This class
 * adds what the contract asks for beyond that: live blocks with size and stream ({@link BlockLedger}), the limit and a
 * retry ({@link PoolSource}).
 *
 * <p><b>Without a stream.</b> Such memory comes from a stream of the pool's own, which is synchronized before the
 * address is returned, so that any stream may use it.
 *
 * <p><b>Closed streams.</b> Memory of a stream that is closed when the memory is freed is freed on the pool's own
 * stream, since all work of the closed one is done. If that is not known yet, the memory is set aside, and goes back
 * when the stream reports that it is drained, or when the pool is closed. No call waits for a stream that is being
 * closed: its work may wait for the calling thread.
 *
 * <p><b>Captures.</b> Allocations and frees on a stream that is being captured into a graph are rejected with
 * {@link allocator.spi.StreamCaptureException}, which costs each call on a stream one short call of the driver.
 *
 * <p><b>Failures.</b> Whatever the driver throws, and if the Java heap ends, an allocation has its effect or none. A
 * free takes effect. Memory that the driver does not take back stays held; {@link #shrink}, a request that fails
 * otherwise, and {@link #destroy} offer it again.
 */
// One class, since most of it documents one public type.
public final class DriverPool implements CudaAllocator, StreamAwareAllocator, ShrinkableAllocator, UnreturnedMemory {
    private final CudaDevice device;
    private final CudaDriver driver;
    private final CudaPools pools;
    private final int ordinal;
    private final MemoryInfo info;
    private final AllocatorOptions effectiveOptions;
    private final long bytesToKeepOnShrink;
    private final PoolHandles handles;
    private final long ownStream;
    private final Limit limit;
    private final BlockLedger<CudaSyncStream> blocks;
    private final PoolSource source;
    private final UseGuard guard = new UseGuard();
    private final Object endLock = new Object();
    private final AtomicLong numShrinkages = new AtomicLong();

    private DriverPool(
            CudaDevice device, PoolHandles handles, Limit limit, PoolSettings settings, AllocatorOptions options) {
        this.device = device;
        this.handles = handles;
        this.limit = limit;
        ownStream = handles.stream();
        driver = device.driver();
        pools = driver.pools();
        ordinal = device.ordinal();
        info = device.defaultMemory();
        blocks = new BlockLedger<>(info, this::giveBack);
        source = new PoolSource(device, handles, limit, blocks);
        bytesToKeepOnShrink = settings.bytesToKeepOnShrink();
        effectiveOptions = limit.equals(settings.limit())
                ? options
                : options.served(Limit.KEY, limit.bytes(), "rounded up to " + limit.bytes());
    }

    /**
     * {@return a new pool for a device's default memory, which holds no memory yet}
     *
     * @param device the device, with a context
     * @param settings the settings
     * @param options what {@link #effectiveOptions} returns, apart from the rounding of the limit
     * @throws CudaException if the driver fails, for instance because the device has no pools. Nothing is left behind;
     *     what the driver does not take back at once, it is given when the factory is closed
     */
    public static DriverPool create(CudaDevice device, PoolSettings settings, AllocatorOptions options) {
        final PoolHandles handles = new PoolHandles(device);
        final Endings.End end = device.endings().of(handles::destroy);
        try {
            handles.create(settings);
            final Limit limit = PoolSource.rounded(settings.limit(), handles);
            final DriverPool pool = new DriverPool(device, handles, limit, settings, options);
            CudaLog.debug("{0}: a pool of the driver with {1}", pool.info, pool.effectiveOptions);
            return pool;
        } catch (Throwable e) {
            try {
                end.run();
            } catch (Throwable failure) {
                Failures.suppress(e, failure);
            }
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
            return isEmpty(byteSize) ? 0 : source.allocate(byteSize, null, isReserve);
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
        cudaStream.usedBy(this);
        enter();
        try {
            if (!cudaStream.tryUse()) {
                throw new IllegalStateException(stream + " is closed");
            }
            try {
                if (isEmpty(byteSize)) {
                    return 0;
                }
                // The driver would take the memory from the graph, which frees it again after each launch.
                cudaStream.requireNotCaptured("allocation; allocate before the capture begins, or without a stream");
                return source.allocate(byteSize, cudaStream, false);
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
            final CudaSyncStream stream = blocks.ownerOfLive(address);
            if (stream != null) {
                stream.requireFreeable();
            }
            blocks.free(address);
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    /** Returns false where work that uses the block may be queued on a closed stream. */
    private boolean giveBack(long address, long byteSize, @Nullable CudaSyncStream stream) {
        if (stream == null) {
            giveBack(address, ownStream);
            return true;
        }
        if (stream.tryUse()) {
            try {
                giveBack(address, stream.handle());
            } finally {
                stream.endUse();
            }
            return true;
        }
        if (stream.hasEnded()) {
            giveBack(address, ownStream);
            return true;
        }
        return false;
    }

    private void giveBack(long address, long stream) {
        pools.memFreeAsync(ordinal, address, stream);
    }

    /** Gives back what was freed while the stream was being closed. */
    @Override
    public void releaseStream(SyncStream stream) {
        enter();
        try {
            blocks.returnAgain();
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>Tries again to give back what the driver did not take back before. Waits for the pool's own stream.
     */
    @Override
    public ShrinkReport shrink() {
        enter();
        try {
            final long before = source.bytesHeld();
            final DriverCalls.All calls = new DriverCalls.All();
            blocks.returnAgain();
            calls.attempt(() -> device.synchronizeStream(ownStream));
            final long after = source.shrinkTo(bytesToKeepOnShrink, before, calls);
            calls.throwIfFailed();
            numShrinkages.incrementAndGet();
            return new ShrinkReport(Math.max(0, before - after), 0, after, 0, 0, parts(after));
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    @Override
    public boolean isClosed() {
        return guard.isClosed();
    }

    private List<ShrinkReport.Held> parts(long held) {
        final long inUse = Math.min(blocks.bytesInUse(), held);
        final String keeper =
                "free memory that queued work may still use, or that shares the driver's granules with live blocks"
                        + (bytesToKeepOnShrink == 0
                                ? ""
                                : ", and arena.cuda_mempool_bytes_to_keep_on_shrink=" + bytesToKeepOnShrink
                                        + " keeps the rest");
        return Stream.of(new ShrinkReport.Held(inUse, 0, "live blocks"), new ShrinkReport.Held(held - inUse, 0, keeper))
                .filter(part -> part.bytes() > 0)
                .toList();
    }

    /**
     * {@inheritDoc}
     *
     * <p>Bytes held and their peak are the driver's own counters. The driver does not report how its free memory is
     * divided, nor how often it took memory from the device: {@code largestFreeChunk} and {@code numArenaExtensions}
     * are {@code 0}, not maintained. {@code numArenaShrinkages} counts the shrinks that succeeded, as ONNX Runtime does
     * for such a pool. Under a limit, waits for an allocation under way.
     */
    @Override
    public AllocatorStats stats() {
        enter();
        try {
            final long reserved = source.settledBytesHeld();
            return blocks.stats(limit.toStats(), reserved, source.peakBytesHeld(reserved), numShrinkages.get());
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>Lists live blocks, those that wait for a stream which is being closed, and those that the driver did not take
     * back. The driver does not report how the rest of its pool is divided: it is not listed, and part of the
     * statistics.
     */
    @Override
    public AllocatorSnapshot inspect() {
        enter();
        try {
            return blocks.inspect();
        } finally {
            guard.exit();
        }
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    /** Returns whether the driver may take free memory from the pool whenever the host waits for the device. */
    boolean returnsOnWait() {
        return source.isLimited() || effectiveOptions.get(PoolSettings.RELEASE_THRESHOLD) < Long.MAX_VALUE;
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
    public long unreturnedBytes() {
        return blocks.unreturnedBytes();
    }

    @Override
    public long returnAgain() {
        enter();
        try {
            return blocks.returnAgain();
        } finally {
            guard.exit();
        }
    }

    @Override
    public void destroy() {
        guard.close();
        synchronized (endLock) {
            if (handles.isOpen()) {
                end();
            }
        }
    }

    private void end() {
        final long held = heldIfKnown();
        try {
            DriverCalls.insist(() -> device.synchronize("close of a pool; end the capture first"));
            blocks.returnAll((address, byteSize, stream) -> {
                DriverCalls.insist(() -> giveBack(address, ownStream));
                return true;
            });
            handles.destroy();
            source.settle(0);
        } catch (CudaException | DeviceException e) {
            throw blocks.notTakenBack(held, e);
        }
    }

    private long heldIfKnown() {
        try {
            return source.bytesHeld();
        } catch (CudaException | DeviceException e) {
            return Math.max(source.lastBytesHeld(), blocks.bytesHeld());
        }
    }

    @Override
    public String toString() {
        return "the pool of " + info;
    }
}
