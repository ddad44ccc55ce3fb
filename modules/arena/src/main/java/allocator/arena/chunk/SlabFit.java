package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Serves requests of up to 64 KiB from {@linkplain Slabs slabs}, and all others by {@link BestFit}.
 *
 * <p>A small request is rounded up to a unit's size, by at most a seventeenth. It takes a free unit of a slab of its
 * stream, or of none; if there is none, a new slab is cut off the best fit. Where that is too small, the arena too
 * small for a slab, or the owner not among the first {@value Slabs#MAX_OWNERS}, the request is served by the best fit
 * itself.
 *
 * <p>A slab whose last unit is freed is freed as a chunk, unless it is the last of its owner and size with free units:
 * that one is cached until memory is needed elsewhere.
 *
 * <p>To best fit a slab is a chunk in use of its owner. To make free units usable by others, it is <em>dissolved</em>:
 * its units become chunks, live or free. That is done to slabs with free units at the end of the owner's run, when the
 * owner is released, and before the arena grows.
 */
public final class SlabFit extends BestFit {
    private static final int NONE = Chunks.NONE;

    /** The part of the regions that a slab may take, as a divisor. */
    private static final int SHARE = 64;

    private static final long WINDOW_BYTES = Granules.toBytes(Region.WINDOW_GRANULES);

    /**
     * Creates a placement without regions.
     *
     * @param maxDeadGranules the excess at which best fit splits a chunk whatever the request
     */
    public SlabFit(long maxDeadGranules) {
        super(maxDeadGranules);
    }

    @Override
    public long take(long granules, long requested, @Nullable SyncStream stream) {
        final Slot requester = slot(stream);
        if (granules > Slabs.MOST_GRANULES) {
            return takeChunk(granules, requested, requester);
        }
        final int unitGranules = Slabs.unitFor((int) granules);
        final int list = Slabs.list(requester.number, unitGranules);
        int slab = slabs.first(list);
        if (slab == NONE) {
            slab = cut(unitGranules, requester);
            if (slab == NONE) {
                return takeChunk(granules, requested, requester);
            }
        }
        final int unit = slabs.freeUnit(slab);
        step = unit;
        final long address = slabs.address(unit);
        takenGranules = unitGranules;
        if (slabs.setLive(unit, Granules.toBytes(unitGranules) - requested) == 0) {
            slabs.remove(slab, list);
        }
        return address;
    }

    /** Takes the best fit. If there is none, free units become chunks first, since the arena is about to grow. */
    private long takeChunk(long granules, long requested, Slot requester) {
        final long address = takeBestFit(granules, requested, requester);
        return address == NO_ADDRESS && granules <= regions.largest() && dissolve()
                ? takeBestFit(granules, requested, requester)
                : address;
    }

    /** Cuts a slab off the best fit, and returns it; {@link Chunks#NONE} if nothing fits. */
    private int cut(int unitGranules, Slot owner) {
        final long granules = (long) unitGranules * Slabs.unitsOf(unitGranules);
        if (owner.number >= Slabs.MAX_OWNERS || granules > regions.granules() / SHARE || slabs.isFull()) {
            return NONE;
        }
        slabs.ensureSpare(owner.number);
        int found = find(SizeOrder.first(granules), owner);
        if (found != NONE && alignedSpare(found) < granules) {
            found = find(SizeOrder.first(granules + Region.WINDOW_GRANULES - 1), owner);
        }
        if (found == NONE) {
            return NONE;
        }
        final Region region = region(found);
        final long address = alignedAddress(region, found);
        final long offset = Granules.floor(address - region.base);
        takeAt(address, found, granules, slabs.next(), owner);
        final int chunk = step; // a live chunk, until it is a slab
        region.ensureEntries(offset, granules);
        final int slab = slabs.create(chunk, unitGranules, address);
        chunks.setSlab(chunk);
        region.enterSlab(slab, offset, granules);
        slabs.append(slab, Slabs.list(owner.number, unitGranules));
        return slab;
    }

    /** Returns the first address at the start of a window in what {@link #find} has found. */
    private long alignedAddress(Region region, int found) {
        return region.base + ((foundAddress(found) - region.base + WINDOW_BYTES - 1) & -WINDOW_BYTES);
    }

    /** Returns the granules from there on. */
    private long alignedSpare(int found) {
        final long before = alignedAddress(region(found), found) - foundAddress(found);
        return SizeOrder.granules(foundKey) - Granules.floor(before);
    }

    @Override
    public boolean findLive(Region region, long address) {
        final int slab = region.slabAt(Granules.floor(address - region.base));
        if (slab < 0) {
            return super.findLive(region, address);
        }
        live = slabs.liveUnit(slab, address);
        if (live == NONE) {
            return false;
        }
        liveGranules = slabs.unitGranules(slab);
        liveRequested = slabs.requested(live);
        return true;
    }

    @Override
    public void freeLive(Region region) {
        final int unit = live;
        if (unit < Slabs.FIRST_UNIT) {
            super.freeLive(region);
            return;
        }
        final int slab = Slabs.slab(unit);
        final long before = slabs.free(slab);
        if (before == 0 || slabs.isEmptyWithout(unit)) {
            freeAtEnd(unit, slab, before == 0);
            return;
        }
        slabs.setFree(unit);
        step = FREED;
    }

    /** Frees a unit of a slab that was full, or is empty then. */
    private void freeAtEnd(int unit, int slab, boolean wasFull) {
        final Slot owner = slots.get(chunks.owner(slabs.chunk(slab)));
        final long stamp = stamp(owner); // a call, which may fail
        slabs.setFree(unit);
        step = FREED;
        if (wasFull) {
            slabs.append(slab, Slabs.list(owner.number, slabs.unitGranules(slab)));
        }
        final boolean isReleased = owner.stream == null && owner.number != StreamSlots.UNBOUND;
        if (isReleased || (slabs.isEmpty(slab) && !slabs.isOnly(slab))) {
            dissolve(slab, stamp);
        }
    }

    private static long stamp(Slot owner) {
        final SyncStream stream = owner.stream;
        return stream == null ? 0 : stream.syncId();
    }

    /**
     * Makes the units of a slab chunks, of which those that are free merge with their neighbours.
     *
     * @param stamp the stamp of what is free
     */
    private void dissolve(int slab, long stamp) {
        chunks.ensureSpare(Slabs.MOST_UNITS);
        if (step == WHOLE) {
            step = BEGUN;
        }
        final int chunk = slabs.chunk(slab);
        final Region region = region(chunk);
        final long offset = chunks.offset(chunk);
        final long end = offset + granules(region, chunk);
        final Slot owner = slots.get(chunks.owner(chunk));
        if (slabs.free(slab) != 0) {
            slabs.remove(slab, Slabs.list(owner.number, slabs.unitGranules(slab)));
        }
        chunks.divide(chunk, slabs, owner.stream == null ? 0 : Chunks.ownedWord(owner.number, stamp));
        region.frees++;
        region.leaveSlab(offset, end - offset);
        slabs.retire(slab);
        region.chunksInUse--;
        owner.chunksInUse--;
        for (int part = chunk; part != NONE && chunks.offset(part) < end; ) {
            ensureSpare();
            final int next = chunks.next(part);
            final long partOffset = chunks.offset(part);
            region.enter(this, part, partOffset);
            if (chunks.isFree(part)) {
                coalesce(region, part, partOffset, granules(region, part));
            } else {
                region.chunksInUse++;
                owner.chunksInUse++;
            }
            part = next;
        }
    }

    /** {@inheritDoc} Only memory that was freed is needed by others: what the stream has in use stays in slabs. */
    @Override
    public void endRun(SyncStream stream) {
        dissolveOf(stream);
        super.endRun(stream);
    }

    @Override
    public void releaseStream(SyncStream stream) {
        dissolveOf(stream);
        super.releaseStream(stream);
    }

    /** Dissolves the slabs of a stream that have free units. */
    private void dissolveOf(SyncStream stream) {
        final Slot owner = slots.find(stream);
        if (owner == null) {
            return;
        }
        for (int list = owner.number * Slabs.SIZES; list < (owner.number + 1) * Slabs.SIZES; list++) {
            for (int slab = slabs.first(list); slab != NONE; slab = slabs.first(list)) {
                dissolve(slab, Chunks.MAX_STAMP); // it is about to be unbound
            }
        }
    }

    @Override
    public boolean dissolve() {
        final boolean areFullToo = slabs.isSparse(); // so that their table can be given back
        boolean isDissolved = false;
        for (int slab = 0; slab < slabs.count(); slab++) {
            if (slabs.exists(slab) && (areFullToo || slabs.free(slab) != 0)) {
                dissolve(slab, stamp(slots.get(chunks.owner(slabs.chunk(slab)))));
                isDissolved = true;
            }
        }
        return isDissolved;
    }
}
