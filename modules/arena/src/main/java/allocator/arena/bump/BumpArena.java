package allocator.arena.bump;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.OutOfMemoryException;
import org.jspecify.annotations.Nullable;

/**
 * Allocates by bumping a pointer and frees all blocks at once: for the scratch memory of one run, one request or one
 * frame. Confined to the thread that made it: in another one its methods throw a {@link WrongThreadException}.
 * {@link SharedBumpArena} serves several threads.
 *
 * <pre>
 *  region 0            region 1 (after growth)
 *  |A|B|pad|C|tail--|  |D|pad|E|              free|
 *                                ^ top             ^ end
 * </pre>
 *
 * <p>Terms. A <em>position</em> is a distance in bytes from the start of region 0, counted through all regions in
 * order. Memory below the position of {@code top} is in use. A <em>mark</em> is a position to roll back to. The
 * <em>generation</em> increases with every {@linkplain #reset reset} and {@linkplain #rollback rollback}. An address
 * and the generation of its allocation identify a block uniquely; {@link #isLive} returns whether that block is live.
 *
 * <p>Cost. {@link #allocate} is one addition and one comparison and allocates no Java objects. Regions survive a reset
 * and are reused in order; {@link #shrink} returns unused ones to the upstream allocator.
 *
 * <p>An optional <em>fallback</em> allocator serves, block by block, what the regions cannot.
 */
@SuppressWarnings("exports") // the base class is no API
public final class BumpArena extends ChainedArena {
    /** The largest alignment that a request may have, in bytes. */
    public static final long MAX_BYTE_ALIGNMENT = 1L << 30;

    private final Thread owner = Thread.currentThread();
    private final @Nullable RegionStack fallback;
    private final Generations generations = new Generations();

    /** The next free byte of the current region, and the first byte after it. Both are 0 if there is no region. */
    private long top;

    private long end;

    /** The index of the current region; -1 if there is none. */
    private int current = -1;

    /** The sum of the sizes of the regions before the current one, and the address of the latter. */
    private long currentPosition;

    private long currentBase;

    private long paddingBytes;

    /** A position to roll back to. Closing a mark rolls back to it, so that a mark can delimit a scope. */
    public final class Mark implements AutoCloseable {
        private final int region = Math.max(current, 0);
        private final long position = bytesInUse();
        private final long markedGeneration = generations.current();
        private final long markedPadding = paddingBytes;
        private final int markedFallbacks = fallback == null ? 0 : fallback.count();

        private Mark() {}

        private BumpArena arena() {
            return BumpArena.this;
        }

        private boolean isStale() {
            return generations.isStaleMark(position, markedGeneration);
        }

        /**
         * Frees the blocks allocated since the mark. Does nothing if a rollback to an earlier mark or a reset freed
         * them, or if the arena is closed.
         */
        @Override
        public void close() {
            requireOwner();
            if (!isClosed && !isStale()) {
                rollback(this);
            }
        }
    }

    /**
     * Makes an arena without a fallback, owned by the calling thread. It holds no memory before the first allocation or
     * {@link #takeFirstRegion}.
     *
     * @param upstream the allocator that regions are taken from; the arena does not close it
     * @param config sizes and limit of the regions
     */
    public BumpArena(Allocator upstream, BumpConfig config) {
        this(upstream, config, null);
    }

    /**
     * Makes an arena owned by the calling thread. It holds no memory before the first allocation or
     * {@link #takeFirstRegion}.
     *
     * @param upstream the allocator that regions are taken from; the arena does not close it
     * @param config sizes and limit of the regions
     * @param fallback the allocator that serves requests when the regions cannot, {@code null} for none; its blocks are
     *     freed by the reset or rollback that ends them; the arena does not close it
     */
    public BumpArena(Allocator upstream, BumpConfig config, @Nullable Allocator fallback) {
        super(upstream, config);
        this.fallback = fallback == null ? null : new RegionStack(fallback);
    }

    @Override
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

    private long allocateSlowly(long byteSize, long byteAlignment) {
        requireOpen();
        requireValid(byteSize, byteAlignment);
        if (byteSize == 0) {
            return 0;
        }
        final int region;
        try {
            region = regionFor(byteSize, byteAlignment, current + 1);
        } catch (OutOfMemoryException e) {
            if (fallback == null) {
                throw e;
            }
            return allocateFallback(fallback, byteSize, byteAlignment);
        }
        return allocateIn(chain.regions.get(region), region, byteSize, byteAlignment);
    }

    /** Allocates from a later region, which has room; what is left of the regions before it becomes padding. */
    private long allocateIn(BumpRegion region, int index, long byteSize, long byteAlignment) {
        final long base = region.base();
        final long address = base + region.align(0, byteAlignment);
        final long position = chain.byteSize(index);
        final long skipped = position - bytesInUse();
        paddingBytes += skipped + address - base; // no call from here on, so that nothing is done by halves
        current = index;
        currentPosition = position;
        currentBase = base;
        top = address + byteSize;
        end = base + region.byteSize;
        return address;
    }

    private long allocateFallback(RegionStack blocks, long byteSize, long byteAlignment) {
        if (byteAlignment > blocks.source.info().byteAlignment()) {
            throw outOfMemory(
                    byteSize,
                    "The fallback gives no alignment of " + byteAlignment + " for " + byteSize + " bytes",
                    null);
        }
        return blocks.take(byteSize, generations.current()).base();
    }

    /** {@inheritDoc} That is the position of {@code top}. */
    @Override
    long bytesInUse() {
        return currentPosition + (top - currentBase);
    }

    @Override
    long room() {
        return end - top;
    }

    /**
     * Marks the current position.
     *
     * @return the mark, to be {@linkplain #rollback rolled back} to or closed
     * @throws AllocatorClosedException if the arena is closed
     */
    public Mark mark() {
        requireOwner();
        requireOpen();
        return new Mark();
    }

    /**
     * Frees the blocks allocated since a mark. The mark can be used again.
     *
     * @param mark a mark of this arena
     * @throws IllegalArgumentException if the mark belongs to another arena
     * @throws StaleAddressException if a rollback to an earlier mark or a reset followed the mark; nothing changes
     * @throws AllocatorClosedException if the arena is closed
     */
    public void rollback(Mark mark) {
        requireOwner();
        requireOpen();
        if (mark.arena() != this) {
            throw new IllegalArgumentException("the mark belongs to another arena");
        }
        if (mark.isStale()) {
            throw new StaleAddressException("the mark of generation " + mark.markedGeneration
                    + " was passed by a rollback or reset; the generation is " + generations.current());
        }
        free(Math.min(mark.region, chain.count() - 1), mark.position, mark.markedPadding, mark.markedFallbacks, false);
    }

    /**
     * Moves back to a position in a region and frees everything from there on. If the Java heap has no room for it,
     * nothing changes.
     */
    private void free(int region, long position, long padding, int keptFallbacks, boolean isReset) {
        requireNotInCall();
        final boolean hasRegion = region >= 0;
        final long regionPosition = chain.byteSize(Math.max(region, 0));
        final long base = hasRegion ? chain.regions.get(region).base() : 0;
        final long regionEnd = hasRegion ? base + chain.regions.get(region).byteSize : 0;
        final long peak = currentPeak();
        if (isReset) {
            generations.reset();
        } else {
            generations.cut(position);
        }
        current = region;
        currentPosition = regionPosition;
        currentBase = base;
        top = base + position - regionPosition;
        end = regionEnd;
        paddingBytes = padding;
        peakBytesInUse = peak;
        resets += isReset ? 1 : 0;
        if (fallback != null) {
            fallback.releaseFrom(keptFallbacks);
        }
    }

    @Override
    public void takeFirstRegion() {
        requireOwner();
        extendIfEmpty();
    }

    @Override
    public void reset() {
        requireOwner();
        requireOpen();
        free(chain.count() > 0 ? 0 : -1, 0, 0, 0, true);
    }

    @Override
    public long generation() {
        return generations.current();
    }

    /**
     * {@return whether a block allocated in a given generation is live: no reset or rollback has freed it since}
     *
     * @param address the address of the block, or of any byte in it
     * @param allocatedIn {@link #generation} as read right after the allocation
     */
    public boolean isLive(long address, long allocatedIn) {
        requireOwner();
        if (fallback != null) {
            for (final BumpRegion block : fallback.regions) {
                if (block.contains(address)) {
                    return block.generation <= allocatedIn;
                }
            }
        }
        long position = 0;
        for (int index = 0; index <= current; index++) {
            final BumpRegion region = chain.regions.get(index);
            if (region.contains(address)) {
                position += address - region.base();
                return position < bytesInUse() && generations.isLive(position, allocatedIn);
            }
            position += region.byteSize;
        }
        return false;
    }

    /**
     * Requires that a block is live.
     *
     * @param address the address of the block, or of any byte in it
     * @param allocatedIn {@link #generation} as read right after the allocation
     * @throws StaleAddressException if a reset or rollback has freed it
     */
    public void requireLive(long address, long allocatedIn) {
        if (!isLive(address, allocatedIn)) {
            throw stale(address, allocatedIn, generations.current());
        }
    }

    @Override
    public BumpStats stats() {
        requireOwner();
        return statsWith(paddingBytes, fallback == null ? 0 : fallback.source.bytesHeld());
    }

    /**
     * Returns the regions after the current one to the upstream allocator, and the current one too if nothing is in
     * use.
     *
     * @return the bytes that were returned
     * @throws AllocatorClosedException if the arena is closed
     */
    public long shrink() {
        requireOwner();
        requireOpen();
        requireNotInCall();
        final long before = chain.source.bytesHeld();
        if (bytesInUse() == 0) {
            leaveRegions();
        }
        chain.releaseFrom(current + 1);
        return before - chain.source.bytesHeld();
    }

    private void leaveRegions() {
        current = -1;
        currentPosition = 0;
        currentBase = 0;
        top = 0;
        end = 0;
    }

    @Override
    public void close() {
        requireOwner();
        requireNotInCall();
        isClosed = true;
        leaveRegions();
        if (fallback != null) {
            fallback.releaseFrom(0);
        }
        chain.releaseFrom(0);
        chain.source.requireNothingHeld();
        if (fallback != null) {
            fallback.source.requireNothingHeld();
        }
    }

    private void requireNotInCall() {
        requireNotInUpstream();
        if (fallback != null) {
            fallback.source.requireNotCalled();
        }
    }

    @SuppressWarnings("ReferenceEquality") // a thread is equal to itself only
    private void requireOwner() {
        if (Thread.currentThread() != owner) {
            throw new WrongThreadException("a bump arena of " + owner + " is used by " + Thread.currentThread());
        }
    }
}
