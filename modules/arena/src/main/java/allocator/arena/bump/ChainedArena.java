package allocator.arena.bump;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a bump arena does apart from bumping: it grows a chain of regions within its configuration, counts, reports
 * exhaustion, and gives regions back. Subclasses place blocks in the regions, for one thread or for several, and guard
 * the calls to this class.
 *
 * <p>A failure of the upstream allocator to take a region back is logged.
 */
abstract sealed class ChainedArena implements AutoCloseable permits BumpArena, SharedBumpArena {
    final RegionStack chain;
    boolean isClosed;

    /** Highest value of {@link #bytesInUse} before the last reset or rollback. */
    long peakBytesInUse;

    long resets;
    private final BumpConfig config;

    ChainedArena(Allocator upstream, BumpConfig config) {
        this.chain = new RegionStack(upstream);
        this.config = Objects.requireNonNull(config, "config");
    }

    /** Allocates memory, as the two arenas document it. */
    abstract long allocate(long byteSize, long byteAlignment);

    /**
     * Allocates memory with the default alignment, that of {@link #info}.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address of at least {@code byteSize} bytes; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@code allocate(long, long)}
     */
    public long allocate(long byteSize) {
        return allocate(byteSize, info().byteAlignment());
    }

    /** Returns the bytes used since the last reset or rollback, padding included. */
    abstract long bytesInUse();

    /** Returns the bytes left in the current region. */
    abstract long room();

    /**
     * Returns the memory that the arena serves.
     *
     * @return the upstream allocator's info
     */
    public MemoryInfo info() {
        return chain.upstream.info();
    }

    /**
     * Returns the index of a region that fits a request: the first from {@code from} on, or else a new one.
     *
     * @throws OutOfMemoryException if the configuration forbids a new region or the upstream allocator has no memory
     */
    final int regionFor(long byteSize, long byteAlignment, int from) {
        final int index = chain.firstWithRoom(from, byteSize, byteAlignment);
        if (index == chain.count()) {
            extend(byteSize, byteAlignment);
        }
        return index;
    }

    private void extend(long byteSize, long byteAlignment) {
        final long least = BumpRequest.leastRegionBytes(info(), byteSize, byteAlignment);
        if (config.growthBytes() == 0 && (chain.count() > 0 || least > config.initialBytes())) {
            throw outOfMemory(byteSize, "The bump arena does not grow and has no " + byteSize + " bytes left", null);
        }
        final long size = config.nextRegionBytes(least, chain.byteSize(chain.count()), Long.MAX_VALUE);
        if (size == 0) {
            throw outOfMemory(byteSize, "The bump arena may not grow by " + byteSize + " bytes", null);
        }
        try {
            chain.take(size, 0);
        } catch (OutOfMemoryException e) {
            throw outOfMemory(byteSize, "The upstream allocator has no region of " + size + " bytes", e);
        }
    }

    final OutOfMemoryException outOfMemory(long byteSize, String reason, @Nullable OutOfMemoryException cause) {
        return new OutOfMemoryException(
                reason,
                new Shortage(
                        info(),
                        byteSize,
                        byteSize,
                        config.limit().toStats(),
                        bytesInUse(),
                        chain.upstream.bytesHeld(),
                        room(),
                        cause == null
                                ? OutOfMemoryException.UNKNOWN
                                : cause.shortage().deviceFree()),
                "",
                cause);
    }

    /** Returns the peak up to now. */
    final long currentPeak() {
        return Math.max(peakBytesInUse, bytesInUse());
    }

    final BumpStats statsWith(long paddingBytes, long fallbackBytes) {
        final long inUse = bytesInUse();
        return new BumpStats(
                inUse,
                inUse - paddingBytes,
                paddingBytes,
                Math.max(peakBytesInUse, inUse),
                chain.upstream.bytesHeld(),
                chain.count(),
                fallbackBytes,
                resets);
    }

    static StaleAddressException stale(long address, long allocatedIn, long generation) {
        return new StaleAddressException("0x" + Long.toHexString(address) + " of generation " + allocatedIn
                + " is not live; the generation is " + generation);
    }

    /** Rejects a call back from the upstream allocator, which would change what a call in progress rests on. */
    final void requireNotInUpstream() {
        chain.upstream.requireNotCalled();
    }

    final void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the bump arena of " + info() + " is closed");
        }
    }

    /**
     * Frees all blocks and returns all regions to the upstream allocator. A second call tries again to return what the
     * upstream allocator failed to take back, and does nothing if that is nothing.
     *
     * @throws DeviceException if the upstream allocator failed to take a region back with anything but a
     *     {@code DeviceException}; the arena is closed, and the other regions are returned
     */
    @Override
    public abstract void close();
}
