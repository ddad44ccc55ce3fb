package allocator.arena;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Allocates by moving a pointer forward, and frees everything at once: for the scratch memory of one run, one request,
 * one frame. For one thread; {@link SharedBumpArena} is for several.
 *
 * <pre>
 *  region 0            region 1 (after growth)
 *  |A|B|pad|C|tail--|  |D|pad|E|              free|
 *                                ^ top             ^ end
 * </pre>
 *
 * <p>Terms. A <em>position</em> is the distance from the start of region 0 through all regions, as if they were one.
 * What is below the position of {@code top} is in use. A <em>mark</em> is a position to return to. The
 * <em>generation</em> rises with every {@linkplain #reset reset} and {@linkplain #rollback rollback}; an address
 * together with the generation of its allocation names a block for ever, and {@link #isLive} tells whether that block
 * still is.
 *
 * <p>Invariant: a stack of cuts, each a position and the generation that began there, both rising from bottom to top;
 * what lies at a position and is older than the highest cut at or below it is dead. A rollback removes the cuts above
 * its mark and adds one, so a reset leaves exactly one.
 *
 * <p>Cost. {@link #allocate} is an addition and a comparison; it allocates no Java objects. Regions stay when the arena
 * is reset and are used again in their order; {@link #shrink} gives them back.
 */
public final class BumpArena implements AutoCloseable {
    /** The largest alignment that can be asked for, in bytes. */
    public static final long MAX_BYTE_ALIGNMENT = 1L << 30;

    private final Thread owner = Thread.currentThread();
    private final Allocator upstream;
    private final @Nullable Allocator fallback;
    private final BumpConfig config;

    /** In the current region: the next free byte, and the first byte behind. Both 0 where there is no region. */
    private long top;

    private long end;

    private int current = -1;
    private int regions;
    private long[] bases = new long[4];

    /** {@code starts[i]} is the position of region i, {@code starts[regions]} all that is held. */
    private long[] starts = new long[5];

    private long[] fallbackAddresses = new long[4];
    private long[] fallbackSizes = new long[4];
    private long[] fallbackGenerations = new long[4];
    private int fallbacks;
    private long fallbackBytes;

    private long[] cutPositions = new long[4];
    private long[] cutGenerations = new long[4];
    private int cuts = 1;

    private long generation;

    /** The generation that the last reset began. */
    private long lastReset;

    private long paddingBytes;
    private long peakBytesInUse;
    private long resets;
    private boolean isClosed;

    /** A point to return to. Closing it returns there, so that a scope can end with it. */
    public final class Mark implements AutoCloseable {
        private final int region = Math.max(current, 0);
        private final long position = position();
        private final long markedGeneration = generation;
        private final long markedPadding = paddingBytes;
        private final int markedFallbacks = fallbacks;

        private Mark() {}

        private BumpArena arena() {
            return BumpArena.this;
        }

        /** Frees what was allocated since the mark, unless a rollback to an earlier mark or a reset did so already. */
        @Override
        public void close() {
            requireOwner();
            if (!isClosed && !isStale(this)) {
                rollback(this);
            }
        }
    }

    /**
     * Makes an arena for the calling thread that holds nothing yet.
     *
     * @param upstream gives the regions; the arena does not close it
     * @param config how large they are
     */
    public BumpArena(Allocator upstream, BumpConfig config) {
        this(upstream, config, null);
    }

    /**
     * Makes an arena for the calling thread that asks another allocator where it can give no more itself.
     *
     * @param upstream gives the regions; the arena does not close it
     * @param config how large they are
     * @param fallback gives what the arena cannot, {@code null} for none; blocks go back to it with the reset or
     *     rollback that frees them
     */
    public BumpArena(Allocator upstream, BumpConfig config, @Nullable Allocator fallback) {
        this.upstream = Objects.requireNonNull(upstream, "upstream");
        this.config = Objects.requireNonNull(config, "config");
        this.fallback = fallback;
    }

    /**
     * The memory that the arena serves.
     *
     * @return the upstream allocator's info
     */
    public MemoryInfo info() {
        return upstream.info();
    }

    /**
     * Allocates memory that lives until the next {@linkplain #reset reset}, or {@linkplain #rollback rollback} to an
     * earlier mark. The bytes are not initialized.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two up to {@link #MAX_BYTE_ALIGNMENT}
     * @return the address of at least {@code byteSize} bytes; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException if {@code byteSize} is negative or too large to be aligned
     * @throws IllegalArgumentException if {@code byteAlignment} is not a power of two up to {@link #MAX_BYTE_ALIGNMENT}
     * @throws OutOfMemoryException if neither the arena nor its upstream nor the fallback has that much
     * @throws WrongThreadException if another thread than the owner calls
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocate(long byteSize, long byteAlignment) {
        requireOwner();
        final long mask = byteAlignment - 1;
        final long address = (top + mask) & ~mask;
        if (byteSize > 0 && byteSize <= end - address && isAlignment(byteAlignment)) {
            paddingBytes += address - top;
            top = address + byteSize;
            return address;
        }
        return allocateSlowly(byteSize, byteAlignment);
    }

    static boolean isAlignment(long byteAlignment) {
        return byteAlignment > 0 && byteAlignment <= MAX_BYTE_ALIGNMENT && (byteAlignment & (byteAlignment - 1)) == 0;
    }

    static void requireRequest(long byteSize, long byteAlignment) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (!isAlignment(byteAlignment)) {
            throw new IllegalArgumentException(
                    "byteAlignment is " + byteAlignment + ", it must be a power of two, at most " + MAX_BYTE_ALIGNMENT);
        }
        if (byteSize > Long.MAX_VALUE - byteAlignment) {
            throw InvalidSizeException.overflow(byteSize, byteAlignment);
        }
    }

    private long allocateSlowly(long byteSize, long byteAlignment) {
        requireOpen();
        requireRequest(byteSize, byteAlignment);
        if (byteSize == 0) {
            return 0;
        }
        final int next = nextThatFits(byteSize, byteAlignment);
        if (next < regions) {
            goOnTo(next);
            return allocate(byteSize, byteAlignment);
        }
        try {
            extend(byteSize, byteAlignment);
        } catch (OutOfMemoryException e) {
            if (fallback == null) {
                throw e;
            }
            return allocateFallback(fallback, byteSize, byteAlignment);
        }
        return allocate(byteSize, byteAlignment);
    }

    /** The next region in which a request fits; {@link #regions} if there is none. */
    private int nextThatFits(long byteSize, long byteAlignment) {
        int region = current + 1;
        while (region < regions) {
            final long address = (bases[region] + byteAlignment - 1) & -byteAlignment;
            if (byteSize <= starts[region + 1] - starts[region] - (address - bases[region])) {
                return region;
            }
            region++;
        }
        return region;
    }

    /** Goes on to a later region; what is left before it is padding. */
    private void goOnTo(int region) {
        paddingBytes += starts[region] - position();
        enter(region);
    }

    private void enter(int region) {
        current = region;
        top = bases[region];
        end = top + (starts[region + 1] - starts[region]);
    }

    private void extend(long byteSize, long byteAlignment) {
        final long least = least(upstream.info(), byteSize, byteAlignment);
        if (config.growthBytes() == 0 && (regions > 0 || least > config.initialBytes())) {
            throw outOfMemory(byteSize, "The bump arena does not grow and has no " + byteSize + " bytes left", null);
        }
        final long held = starts[regions];
        final long wanted = Math.max(least, regions == 0 ? config.initialBytes() : config.growthBytes());
        final long left = config.maxBytes() == 0 ? Long.MAX_VALUE - held : config.maxBytes() - held;
        if (least > left) {
            throw outOfMemory(byteSize, "The bump arena may not grow by " + byteSize + " bytes", null);
        }
        final long size = Math.min(wanted, left);
        ensureSpareRegion();
        final long base;
        try {
            base = upstream.alloc(size);
        } catch (OutOfMemoryException e) {
            throw outOfMemory(byteSize, "The upstream allocator has no region of " + size + " bytes", e);
        }
        bases[regions] = base;
        starts[regions + 1] = held + size;
        regions++;
        goOnTo(regions - 1);
    }

    /** What a new region must have for a request, wherever it lies. */
    static long least(MemoryInfo info, long byteSize, long byteAlignment) {
        return byteAlignment <= info.byteAlignment() ? byteSize : byteSize + byteAlignment - info.byteAlignment();
    }

    private void ensureSpareRegion() {
        if (regions == bases.length) {
            bases = Arrays.copyOf(bases, 2 * regions);
            starts = Arrays.copyOf(starts, 2 * regions + 1);
        }
    }

    private long allocateFallback(Allocator from, long byteSize, long byteAlignment) {
        if (byteAlignment > from.info().byteAlignment()) {
            throw outOfMemory(
                    byteSize,
                    "The fallback gives no alignment of " + byteAlignment + " for " + byteSize + " bytes",
                    null);
        }
        if (fallbacks == fallbackAddresses.length) {
            fallbackAddresses = Arrays.copyOf(fallbackAddresses, 2 * fallbacks);
            fallbackSizes = Arrays.copyOf(fallbackSizes, 2 * fallbacks);
            fallbackGenerations = Arrays.copyOf(fallbackGenerations, 2 * fallbacks);
        }
        final long address = from.alloc(byteSize);
        fallbackAddresses[fallbacks] = address;
        fallbackSizes[fallbacks] = byteSize;
        fallbackGenerations[fallbacks] = generation;
        fallbacks++;
        fallbackBytes += byteSize;
        return address;
    }

    /**
     * Marks the present point.
     *
     * @return the mark, to be {@linkplain #rollback returned} to or closed
     * @throws WrongThreadException if another thread than the owner calls
     * @throws AllocatorClosedException if the arena is closed
     */
    public Mark mark() {
        requireOwner();
        requireOpen();
        return new Mark();
    }

    /**
     * Frees what was allocated since a mark. The mark can be used again.
     *
     * @param mark a mark of this arena
     * @throws IllegalArgumentException if the mark is another arena's
     * @throws StaleAddressException if a rollback to an earlier mark or a reset came after the mark; nothing changes
     *     then
     * @throws WrongThreadException if another thread than the owner calls
     * @throws AllocatorClosedException if the arena is closed
     */
    public void rollback(Mark mark) {
        requireOwner();
        requireOpen();
        if (mark.arena() != this) {
            throw new IllegalArgumentException("the mark belongs to another arena");
        }
        if (isStale(mark)) {
            throw new StaleAddressException("the mark of generation " + mark.markedGeneration
                    + " was passed by a rollback or reset; the generation is " + generation);
        }
        notePeak();
        if (regions > 0) {
            enter(Math.min(mark.region, regions - 1));
            top += mark.position - starts[current];
        }
        paddingBytes = mark.markedPadding;
        cut(mark.position);
        freeFallbacks(mark.markedFallbacks);
    }

    /** Whether a reset, or a rollback to below the mark, came after it. */
    private boolean isStale(Mark mark) {
        final int below = lastCut(mark.position - 1);
        return lastReset > mark.markedGeneration || (below >= 0 && cutGenerations[below] > mark.markedGeneration);
    }

    /**
     * Frees everything. The regions stay.
     *
     * @throws WrongThreadException if another thread than the owner calls
     * @throws AllocatorClosedException if the arena is closed
     */
    public void reset() {
        requireOwner();
        requireOpen();
        notePeak();
        if (regions > 0) {
            enter(0);
        }
        paddingBytes = 0;
        resets++;
        cut(0);
        lastReset = generation;
        freeFallbacks(0);
    }

    private void cut(long position) {
        generation++;
        while (cuts > 0 && cutPositions[cuts - 1] >= position) {
            cuts--;
        }
        if (cuts == cutPositions.length) {
            cutPositions = Arrays.copyOf(cutPositions, 2 * cuts);
            cutGenerations = Arrays.copyOf(cutGenerations, 2 * cuts);
        }
        cutPositions[cuts] = position;
        cutGenerations[cuts] = generation;
        cuts++;
    }

    /** The highest cut at or below a position; {@code -1} if there is none. */
    private int lastCut(long position) {
        int cut = cuts - 1;
        while (cut >= 0 && cutPositions[cut] > position) {
            cut--;
        }
        return cut;
    }

    private void freeFallbacks(int keep) {
        DeviceException failure = null;
        while (fallbacks > keep && fallback != null) {
            fallbacks--;
            fallbackBytes -= fallbackSizes[fallbacks];
            try {
                fallback.free(fallbackAddresses[fallbacks]);
            } catch (DeviceException e) {
                failure = e; // the block is dead all the same
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /**
     * What the present allocations belong to.
     *
     * @return the generation, which rises with every reset and rollback
     */
    public long generation() {
        return generation;
    }

    /**
     * Whether a block that was allocated in some generation is still live.
     *
     * @param address its address, or any inside
     * @param allocatedIn {@link #generation} right after it was allocated
     * @return whether no reset or rollback freed it since
     */
    public boolean isLive(long address, long allocatedIn) {
        requireOwner();
        for (int i = 0; i < fallbacks; i++) {
            final long offset = address - fallbackAddresses[i];
            if (offset >= 0 && offset < fallbackSizes[i]) {
                return fallbackGenerations[i] <= allocatedIn;
            }
        }
        for (int region = 0; region <= current; region++) {
            final long offset = address - bases[region];
            if (offset >= 0 && offset < starts[region + 1] - starts[region]) {
                final long position = starts[region] + offset;
                return position < position() && cutGenerations[lastCut(position)] <= allocatedIn;
            }
        }
        return false;
    }

    /**
     * Refuses a block that is not live any more.
     *
     * @param address its address, or any inside
     * @param allocatedIn {@link #generation} right after it was allocated
     * @throws StaleAddressException if a reset or rollback freed it
     */
    public void requireLive(long address, long allocatedIn) {
        if (!isLive(address, allocatedIn)) {
            throw new StaleAddressException("0x" + Long.toHexString(address) + " of generation " + allocatedIn
                    + " is not live; the generation is " + generation);
        }
    }

    private long position() {
        return current < 0 ? 0 : starts[current] + (top - bases[current]);
    }

    private void notePeak() {
        peakBytesInUse = Math.max(peakBytesInUse, position());
    }

    /**
     * The counters.
     *
     * @return their values at this moment
     */
    public BumpStats stats() {
        requireOwner();
        notePeak();
        final long inUse = position();
        return new BumpStats(
                inUse,
                inUse - paddingBytes,
                paddingBytes,
                peakBytesInUse,
                starts[regions],
                regions,
                fallbackBytes,
                resets);
    }

    /**
     * Gives the regions behind the current one back to the upstream allocator, and the current one too if nothing is in
     * use.
     *
     * @return bytes given back
     * @throws DeviceException if the upstream allocator fails to take a region back; that one is given up
     * @throws WrongThreadException if another thread than the owner calls
     * @throws AllocatorClosedException if the arena is closed
     */
    public long shrink() {
        requireOwner();
        requireOpen();
        final long before = starts[regions];
        releaseRegions(position() == 0 ? 0 : current + 1);
        return before - starts[regions];
    }

    private void releaseRegions(int keep) {
        DeviceException failure = null;
        while (regions > keep) {
            regions--;
            try {
                upstream.free(bases[regions]);
            } catch (DeviceException e) {
                failure = e;
            }
        }
        if (regions == 0) {
            current = -1;
            top = 0;
            end = 0;
        }
        if (failure != null) {
            throw failure;
        }
    }

    /**
     * Frees everything and gives all regions back. A second call does nothing.
     *
     * @throws DeviceException if the upstream or the fallback allocator fails to take something back; the arena is
     *     closed all the same
     * @throws WrongThreadException if another thread than the owner calls
     */
    @Override
    public void close() {
        requireOwner();
        if (isClosed) {
            return;
        }
        isClosed = true;
        try {
            freeFallbacks(0);
        } finally {
            releaseRegions(0);
        }
    }

    @SuppressWarnings("ReferenceEquality") // a thread is itself only
    private void requireOwner() {
        if (Thread.currentThread() != owner) {
            throw new WrongThreadException("a bump arena of " + owner + " is used by " + Thread.currentThread());
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the bump arena of " + info() + " is closed");
        }
    }

    private OutOfMemoryException outOfMemory(long byteSize, String reason, @Nullable OutOfMemoryException cause) {
        final long held = starts[regions];
        return new OutOfMemoryException(
                reason,
                new Shortage(
                        info(),
                        byteSize,
                        byteSize,
                        config.maxBytes() == 0 ? -1 : config.maxBytes(),
                        position(),
                        held,
                        end - top,
                        cause == null
                                ? OutOfMemoryException.UNKNOWN
                                : cause.shortage().deviceFree()),
                "",
                cause);
    }
}
