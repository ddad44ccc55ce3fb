package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.driver.PoolAttribute;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A memory pool of the driver's own, with its allocations and frees ordered on the caller's stream.
 *
 * <p><b>What is kept here.</b> The driver finds the memory, and knows from its own order of streams who may use freed
 * memory again. Kept here is what the contract asks for beyond that: which blocks are live, their sizes, and the stream
 * of each, on which it is freed. That is one short lock for each call, around a table that allocates nothing.
 *
 * <p><b>Without a stream.</b> Such memory comes from a stream of the pool's own, which is synchronized before the
 * address is handed out, so that any stream may use it.
 *
 * <p><b>Closed streams.</b> Memory of a stream that is closed by the time it is freed is freed on the pool's own
 * stream, as all its work is done. If it is not known to be done, the memory is set aside until the pool is closed.
 *
 * <p><b>Exhaustion.</b> Frees that are still queued hold memory. So when the driver has none left, the device is
 * synchronized, and the driver asked once more.
 *
 * <p><b>The limit.</b> The driver takes memory in large pieces. What it holds is compared after it has taken more, and
 * given back at once if that is too much; the limit is rounded up to a multiple of a piece, as a smaller one could
 * never be kept. Under a limit one thread allocates at a time.
 */
public final class DriverPool implements CudaAllocator, StreamAwareAllocator, ShrinkableAllocator {
    private static final int RECENT = 64;

    private final CudaDevice device;
    private final CudaDriver driver;
    private final CudaPools pools;
    private final CudaStreams streams;
    private final int ordinal;
    private final MemoryInfo info;
    private final AllocatorOptions effectiveOptions;
    private final long bytesToKeepOnShrink;
    private final long home;
    private final long pool;

    /** {@link AllocatorStats#UNLIMITED}, or the most that the pool may hold. */
    private final long limit;

    private final UseGuard guard = new UseGuard();
    private final Object limitLock = new Object();

    /** Guards all that follows; no call to the driver is made inside it. */
    private final Object lock = new Object();

    private final BlockTable blocks = new BlockTable();

    /** Freed, but perhaps still used by a stream that could not be drained. */
    private final List<Long> quarantine = new ArrayList<>();

    /** The addresses freed last, to tell a double free from a foreign address. */
    private final long[] recentlyFreed = new long[RECENT];

    private int nextRecent;
    private long bytesInUse;
    private long peakBytesInUse;
    private long peakBytesHeld;
    private long maxAllocSize;
    private long numAllocs;
    private long numReserves;
    private long numFailedAllocs;
    private long numShrinkages;

    private DriverPool(
            CudaDevice device, long home, long pool, long limit, PoolSettings settings, AllocatorOptions options) {
        this.device = device;
        this.home = home;
        this.pool = pool;
        this.limit = limit;
        driver = device.driver();
        pools = driver.pools();
        streams = driver.streams();
        ordinal = device.ordinal();
        info = device.defaultMemory();
        bytesToKeepOnShrink = settings.bytesToKeepOnShrink();
        effectiveOptions = limit == AllocatorStats.UNLIMITED
                ? options
                : options.with(
                        PoolSettings.MAX_MEM.name(), Long.toString(limit), options.origin(PoolSettings.MAX_MEM.name()));
    }

    /**
     * Creates a pool for a device's default memory.
     *
     * @param device the device, with a context
     * @param settings the settings
     * @param options what {@link #effectiveOptions} answers, apart from the rounding of the limit
     * @return the pool; holds no memory yet
     * @throws CudaException if the driver refuses, for instance because the device has no pools; nothing is left behind
     */
    public static DriverPool create(CudaDevice device, PoolSettings settings, AllocatorOptions options) {
        final CudaDriver driver = device.driver();
        final int ordinal = device.ordinal();
        final long home = driver.streams().streamCreate(ordinal);
        try {
            final long pool = driver.pools().memPoolCreate(ordinal);
            try {
                driver.pools()
                        .memPoolSetAttribute(
                                ordinal, pool, PoolAttribute.RELEASE_THRESHOLD, settings.releaseThreshold());
                final long limit = settings.maxMem() == 0
                        ? AllocatorStats.UNLIMITED
                        : roundUp(settings.maxMem(), pieceSize(driver, ordinal, pool, home));
                return new DriverPool(device, home, pool, limit, settings, options);
            } catch (CudaException e) {
                DriverCalls.insist(() -> driver.pools().memPoolDestroy(ordinal, pool));
                throw e;
            }
        } catch (CudaException e) {
            DriverCalls.insist(() -> driver.streams().streamDestroy(ordinal, home));
            throw e;
        }
    }

    /** How much the driver takes for the smallest block. */
    private static long pieceSize(CudaDriver driver, int ordinal, long pool, long home) {
        final long address = driver.pools().memAllocFromPoolAsync(ordinal, pool, 1, home);
        try {
            return driver.pools().memPoolGetAttribute(ordinal, pool, PoolAttribute.RESERVED_MEM_CURRENT);
        } finally {
            DriverCalls.insist(() -> driver.pools().memFreeAsync(ordinal, address, home));
            DriverCalls.insist(() -> driver.streams().streamSynchronize(ordinal, home));
            DriverCalls.insist(() -> driver.pools().memPoolTrimTo(ordinal, pool, 0));
        }
    }

    private static long roundUp(long byteSize, long piece) {
        final long pieces = (byteSize - 1) / piece + 1;
        return pieces > Long.MAX_VALUE / piece ? Long.MAX_VALUE : pieces * piece;
    }

    // ---- allocating

    @Override
    public long alloc(long byteSize) {
        return allocAtHome(byteSize, 0);
    }

    @Override
    public long reserve(long byteSize) {
        return allocAtHome(byteSize, 1);
    }

    private long allocAtHome(long byteSize, int reserves) {
        enter();
        try {
            if (byteSize <= 0 || byteSize > OptionKey.MAX_SIZE) {
                return DirectMemory.requireEmpty(byteSize);
            }
            final long address = take(byteSize, home);
            try {
                streams.streamSynchronize(ordinal, home);
            } catch (CudaException e) {
                DriverCalls.insist(() -> pools.memFreeAsync(ordinal, address, home));
                throw e;
            }
            enroll(address, byteSize, null, reserves);
            return address;
        } catch (CudaException e) {
            throw DriverCalls.deviceException(e);
        } finally {
            guard.exit();
        }
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
                if (byteSize <= 0 || byteSize > OptionKey.MAX_SIZE) {
                    return DirectMemory.requireEmpty(byteSize);
                }
                final long address = take(byteSize, cudaStream.handle());
                enroll(address, byteSize, cudaStream, 0);
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

    private void enroll(long address, long byteSize, @Nullable CudaSyncStream stream, int reserves) {
        synchronized (lock) {
            blocks.add(address, byteSize, stream);
            bytesInUse += byteSize;
            peakBytesInUse = Math.max(peakBytesInUse, bytesInUse);
            maxAllocSize = Math.max(maxAllocSize, byteSize);
            numAllocs++;
            numReserves += reserves;
        }
    }

    private long take(long byteSize, long stream) {
        return limit == AllocatorStats.UNLIMITED ? takeOrRetry(byteSize, stream) : takeWithinLimit(byteSize, stream);
    }

    private long takeOrRetry(long byteSize, long stream) {
        try {
            return pools.memAllocFromPoolAsync(ordinal, pool, byteSize, stream);
        } catch (CudaException e) {
            if (!e.isOutOfMemory()) {
                throw e;
            }
            if (byteSize > device.info().totalByteSize()) {
                throw outOfMemory("The device is not that large", byteSize, e);
            }
        }
        driver.devices().ctxSynchronize(ordinal);
        try {
            return pools.memAllocFromPoolAsync(ordinal, pool, byteSize, stream);
        } catch (CudaException e) {
            throw e.isOutOfMemory()
                    ? outOfMemory("The device refused memory, also after it was synchronized", byteSize, e)
                    : e;
        }
    }

    private long takeWithinLimit(long byteSize, long stream) {
        synchronized (limitLock) {
            if (byteSize > limit - bytesInUse()) {
                throw outOfMemory("The limit is reached", byteSize, null);
            }
            long address = tryWithinLimit(byteSize, stream);
            if (address == 0) {
                driver.devices().ctxSynchronize(ordinal);
                pools.memPoolTrimTo(ordinal, pool, 0);
                address = tryWithinLimit(byteSize, stream);
            }
            if (address == 0) {
                throw outOfMemory("The limit is reached, as what is free is in pieces", byteSize, null);
            }
            return address;
        }
    }

    /** Takes a block; {@code 0} if the pool would hold more than it may. */
    private long tryWithinLimit(long byteSize, long stream) {
        final long held = attribute(PoolAttribute.RESERVED_MEM_CURRENT);
        if (byteSize > limit - held && byteSize > held - attribute(PoolAttribute.USED_MEM_CURRENT)) {
            return 0;
        }
        final long address = takeOrRetry(byteSize, stream);
        boolean isWithinLimit = false;
        try {
            isWithinLimit = noteHeld(attribute(PoolAttribute.RESERVED_MEM_CURRENT)) <= limit;
        } finally {
            if (!isWithinLimit) {
                DriverCalls.insist(() -> pools.memFreeAsync(ordinal, address, stream));
                DriverCalls.insist(() -> streams.streamSynchronize(ordinal, stream));
                DriverCalls.insist(() -> pools.memPoolTrimTo(ordinal, pool, 0));
            }
        }
        return isWithinLimit ? address : 0;
    }

    /** Under a limit the driver's own mark would show what was taken and given back at once. */
    private long noteHeld(long held) {
        if (held <= limit) {
            synchronized (lock) {
                peakBytesHeld = Math.max(peakBytesHeld, held);
            }
        }
        return held;
    }

    private long attribute(PoolAttribute attribute) {
        return pools.memPoolGetAttribute(ordinal, pool, attribute);
    }

    private long bytesInUse() {
        synchronized (lock) {
            return bytesInUse;
        }
    }

    private AllocatorException outOfMemory(String reason, long byteSize, @Nullable CudaException cause) {
        final long inUse;
        synchronized (lock) {
            numFailedAllocs++;
            inUse = bytesInUse;
        }
        final Shortage shortage = new Shortage(
                info,
                byteSize,
                byteSize,
                limit,
                inUse,
                heldIfKnown(),
                OutOfMemoryException.UNKNOWN,
                DriverCalls.freeBytes(driver, ordinal));
        return new OutOfMemoryException(reason, shortage, "", cause);
    }

    private long heldIfKnown() {
        try {
            return attribute(PoolAttribute.RESERVED_MEM_CURRENT);
        } catch (CudaException e) {
            return OutOfMemoryException.UNKNOWN;
        }
    }

    // ---- freeing

    @Override
    public void free(long address) {
        if (address == 0) {
            return;
        }
        enter();
        try {
            final CudaSyncStream stream;
            synchronized (lock) {
                final int block = blocks.find(address);
                if (block == BlockTable.NONE) {
                    throw invalidFree(address);
                }
                stream = blocks.stream(block);
                bytesInUse -= blocks.size(block);
                blocks.remove(block);
                recentlyFreed[nextRecent] = address;
                nextRecent = (nextRecent + 1) % RECENT;
            }
            if (stream == null) {
                giveBack(address, home);
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
            giveBack(address, home);
        } else {
            synchronized (lock) {
                quarantine.add(address);
            }
        }
    }

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

    private RuntimeException invalidFree(long address) {
        final long start = blocks.startOf(address);
        if (start != 0) {
            return new InteriorAddressException(
                    address, address - start + " bytes into the block at 0x" + Long.toHexString(start));
        }
        for (long freed : recentlyFreed) {
            if (freed == address) {
                return new DoubleFreeException(address, "freed before, and not handed out again");
            }
        }
        return new ForeignAddressException(address, "not a live block of " + info);
    }

    // ---- the rest

    @Override
    public ShrinkReport shrink() {
        enter();
        try {
            final long before = attribute(PoolAttribute.RESERVED_MEM_CURRENT);
            streams.streamSynchronize(ordinal, home);
            pools.memPoolTrimTo(ordinal, pool, bytesToKeepOnShrink);
            synchronized (lock) {
                numShrinkages++;
            }
            final long after = attribute(PoolAttribute.RESERVED_MEM_CURRENT);
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
     * <p>Held and its peak are the driver's own counters. A pool maps its pages where it needs them, so all that is
     * free counts as one piece.
     */
    @Override
    public AllocatorStats stats() {
        enter();
        try {
            final long reserved = attribute(PoolAttribute.RESERVED_MEM_CURRENT);
            final long peak = limit == AllocatorStats.UNLIMITED ? attribute(PoolAttribute.RESERVED_MEM_HIGH) : reserved;
            synchronized (lock) {
                // What others took since the driver was asked is held as well.
                final long held = Math.max(reserved, bytesInUse);
                peakBytesHeld = Math.max(peakBytesHeld, Math.max(peak, held));
                return new AllocatorStats.Builder()
                        .limit(limit)
                        .inUse(bytesInUse, bytesInUse, peakBytesInUse)
                        .held(held, peakBytesHeld)
                        .free(held - bytesInUse, held - bytesInUse)
                        .calls(numAllocs, numReserves, numFailedAllocs, maxAllocSize)
                        .regions(0, numShrinkages)
                        .build();
            }
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

    /** The driver hands memory on when it knows that the free has taken effect. */
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
        synchronized (lock) {
            for (long address : blocks.all()) {
                calls.insist(() -> pools.memFreeAsync(ordinal, address, home));
            }
            quarantine.forEach(address -> calls.insist(() -> pools.memFreeAsync(ordinal, address, home)));
        }
        calls.insist(() -> streams.streamSynchronize(ordinal, home));
        calls.insist(() -> pools.memPoolDestroy(ordinal, pool));
        calls.insist(() -> streams.streamDestroy(ordinal, home));
        calls.throwIfFailed();
    }

    @Override
    public String toString() {
        return "the pool of " + info;
    }
}
