package allocator.arena.bump;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a bump arena does apart from bumping: it grows a chain of regions within its configuration, counts, reports
 * exhaustion, and gives regions back. Subclasses place blocks in the regions, for one thread or for several, and guard
 * the calls to this class.
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

    /**
     * Allocates memory that lives until the next {@linkplain #reset reset}, or until a rollback to an earlier mark. The
     * bytes are not initialized. May block in the upstream allocator when the arena grows, and then also while another
     * thread grows it.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two up to {@link BumpArena#MAX_BYTE_ALIGNMENT}
     * @return the address of at least {@code byteSize} bytes; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException if {@code byteSize} is negative or too large to be aligned
     * @throws IllegalArgumentException if {@code byteAlignment} is not a power of two up to
     *     {@link BumpArena#MAX_BYTE_ALIGNMENT}
     * @throws OutOfMemoryException if neither the regions, nor the upstream allocator, nor the fallback, if there is
     *     one, can serve the request; the arena stays usable
     * @throws AllocatorClosedException if the arena is closed
     */
    public abstract long allocate(long byteSize, long byteAlignment);

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

    /**
     * Takes the first region now, which is otherwise taken by the first allocation. Does nothing if there is a region.
     *
     * @throws OutOfMemoryException if the upstream allocator cannot serve it; the arena stays usable
     * @throws AllocatorClosedException if the arena is closed
     */
    public abstract void takeFirstRegion();

    final void extendIfEmpty() {
        requireOpen();
        if (chain.count() == 0) {
            extend(config.initialBytes(), 1);
        }
    }

    /**
     * Frees all blocks. The arena keeps its regions and reuses them in order.
     *
     * @throws AllocatorClosedException if the arena is closed
     */
    public abstract void reset();

    /** {@return the generation of blocks allocated now, raised by each reset, rollback, and close of a shared arena} */
    public abstract long generation();

    /** {@return the counters, whose values may be of slightly different moments while other threads allocate} */
    public abstract BumpStats stats();

    static boolean isAlignment(long byteAlignment) {
        return byteAlignment > 0
                && byteAlignment <= BumpArena.MAX_BYTE_ALIGNMENT
                && (byteAlignment & (byteAlignment - 1)) == 0;
    }

    /** Rejects a size that is negative or cannot be aligned. */
    static void requireSize(long byteSize, long byteAlignment) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > Long.MAX_VALUE - byteAlignment) {
            throw InvalidSizeException.overflow(byteSize, byteAlignment);
        }
    }

    /** Rejects a size that is negative or cannot be aligned, and an alignment out of range. */
    static void requireValid(long byteSize, long byteAlignment) {
        if (byteSize >= 0 && !isAlignment(byteAlignment)) {
            throw new IllegalArgumentException("byteAlignment is " + byteAlignment
                    + ", it must be a power of two, at most " + BumpArena.MAX_BYTE_ALIGNMENT);
        }
        requireSize(byteSize, byteAlignment);
    }

    /** Returns the bytes used since the last reset or rollback, padding included. */
    abstract long bytesInUse();

    /** Returns the bytes left in the current region. */
    abstract long room();

    /** {@return the memory that the arena serves: the upstream allocator's info} */
    public MemoryInfo info() {
        return chain.source.info();
    }

    /**
     * Returns the index of a region that fits a request: the first from {@code from} on, or else a new one.
     *
     * @throws OutOfMemoryException if the configuration forbids a new region or the upstream allocator has no memory
     */
    final int regionFor(long byteSize, long byteAlignment, int from) {
        for (int index = from; index < chain.count(); index++) {
            final BumpRegion region = chain.regions.get(index);
            if (byteSize <= region.byteSize - region.align(0, byteAlignment)) {
                return index;
            }
        }
        extend(byteSize, byteAlignment);
        return chain.count() - 1;
    }

    private void extend(long byteSize, long byteAlignment) {
        final long least = byteSize + Math.max(0, byteAlignment - info().byteAlignment()); // at any base address
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
                        chain.source.bytesHeld(),
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
                chain.source.bytesHeld(),
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
        chain.source.requireNotCalled();
    }

    final void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the bump arena of " + info() + " is closed");
        }
    }

    /**
     * Frees all blocks and returns all memory to the upstream and the fallback allocator. No other thread may be
     * allocating. A second call tries again to return what they failed to take back, and does nothing if that is
     * nothing.
     *
     * @throws DeviceException if one of them failed to take something back with anything but a {@code DeviceException};
     *     the arena is closed, and the rest is returned
     */
    @Override
    public abstract void close();
}
