package allocator.arena.chunk;

import java.util.BitSet;

/**
 * Rebuilds the tables of a lane from the records of its chunks, after an operation failed half way: where the stack or
 * the heap ended, or a stream threw.
 *
 * <p>{@link Chunks} changes the records of a region in single steps, so at every moment they say which memory is live,
 * a slab or free, and whose it is. Neighbours may be free and not yet merged; they are merged here.
 */
public final class Repair {
    /** The most insertions into the indexes for one chunk: itself and its two untouched ends, twice. */
    static final int INSERTS = 6;

    private final BestFit placement;
    private final Chunks chunks;
    private final StreamSlots slots;

    /** The chunks that exist. */
    private final BitSet existing;

    private long inUse;
    private long requested;

    /** Makes room for a repair of a placement with so many chunks. */
    Repair(BestFit placement, int chunkCount) {
        existing = new BitSet(chunkCount);
        this.placement = placement;
        chunks = placement.chunks;
        slots = placement.slots;
    }

    /**
     * What is live.
     *
     * @param inUse bytes of live chunks
     * @param requested bytes that their callers requested
     */
    public record Live(long inUse, long requested) {}

    /** Repairs a placement. */
    static Live of(BestFit placement) {
        final Repair repair = new Repair(placement, placement.chunkCount());
        repair.run();
        return new Live(repair.inUse, repair.requested);
    }

    /** Repairs the placement. Takes no Java heap if the tables have the room. */
    void run() {
        if (placement.step >= Slabs.FIRST_UNIT) {
            placement.slabs.setFree(placement.step);
        } else if (placement.step >= 0 && chunks.isLive(placement.step)) {
            takeBack(placement.step);
        }
        placement.step = BestFit.BEGUN;
        slots.clear();
        placement.trees.clearNodes();
        placement.tables.clear();
        placement.slabs.clear();
        slots.relist();
        final Regions regions = placement.regions;
        for (int i = 0; i < regions.count(); i++) {
            merge(regions.at(i));
        }
        chunks.retireUnmarked(existing);
        for (int i = 0; i < regions.count(); i++) {
            enter(regions.at(i));
        }
        placement.slabs.retireRest();
    }

    /** Frees the chunk taken. Its stream has queued no work on it, but may yet have memory of another one below it. */
    private void takeBack(int taken) {
        if (slots.get(chunks.owner(taken)).stream == null) {
            chunks.setUnbound(taken);
        } else {
            chunks.setOwned(taken, chunks.owner(taken), Chunks.MAX_STAMP);
        }
    }

    /** Corrects the links backwards, unbinds free memory of streams that were released, and joins free neighbours. */
    private void merge(Region region) {
        for (int chunk = region.first; chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            if (chunks.isFree(chunk) && slots.get(chunks.owner(chunk)).stream == null) {
                chunks.setUnbound(chunk);
            }
        }
        int previous = Chunks.NONE;
        int chunk = region.first;
        while (chunk != Chunks.NONE) {
            chunks.setPrevious(chunk, previous);
            final int next = chunks.next(chunk);
            if (next != Chunks.NONE
                    && chunks.isFree(chunk)
                    && chunks.isFree(next)
                    && placement.haveMergeableOwners(chunk, next)) {
                placement.join(chunk, placement.granules(region, chunk), next, placement.granules(region, next));
            } else {
                existing.set(chunk);
                previous = chunk;
                chunk = next;
            }
        }
    }

    /** Enters the chunks of a region in all indexes, and counts them. */
    private void enter(Region region) {
        region.clear();
        region.chunksInUse = 0;
        for (int chunk = region.first; chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            final long offset = chunks.offset(chunk);
            final long granules = placement.granules(region, chunk);
            final int owner = chunks.owner(chunk);
            if (chunks.isSlab(chunk)) {
                enterSlab(region, chunk, offset, granules);
                continue;
            }
            region.ensureEntry(offset);
            placement.tables.ensureSpare();
            region.enter(placement, chunk, offset);
            if (chunks.isFree(chunk)) {
                placement.trees.ensureSpare(INSERTS);
                placement.insertFree(region, chunk, owner, offset, granules);
                continue;
            }
            region.chunksInUse++;
            slots.get(owner).chunksInUse++;
            inUse += Granules.toBytes(granules);
            requested += chunks.requested(chunk);
        }
    }

    private void enterSlab(Region region, int chunk, long offset, long granules) {
        region.ensureEntries(offset, granules);
        final int owner = chunks.owner(chunk);
        final Slabs slabs = placement.slabs;
        final int slab = chunks.slab(chunk);
        slabs.enter(slab, chunk, region.address(offset));
        region.enterSlab(slab, offset, granules);
        if (slabs.free(slab) != 0) {
            slabs.append(slab, Slabs.list(owner, slabs.unitGranules(slab)));
        }
        region.chunksInUse++;
        slots.get(owner).chunksInUse++;
        inUse += slabs.inUse(slab);
        requested += slabs.requestedBytes(slab);
    }
}
