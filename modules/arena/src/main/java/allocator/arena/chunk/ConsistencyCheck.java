package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import java.util.Arrays;

/**
 * Walks the structures of a placement and compares them with one another: chunks with their region, free chunks with
 * the indexes, the address index with the chunks. The sums are for the caller to compare with its counters.
 */
public final class ConsistencyCheck {
    private final BestFit placement;
    private final Chunks chunks;
    private final StreamSlots slots;

    private long records;
    private long regionBytes;
    private int slabs;
    private int listedSlabs;
    private long inUseBytes;
    private long requestedBytes;
    private final int[] freeByOwner;
    private final int[] inUseByOwner;
    private final int[] untouchedEndsByOwner;

    private ConsistencyCheck(BestFit placement) {
        this.placement = placement;
        chunks = placement.chunks;
        slots = placement.slots;
        freeByOwner = new int[slots.count()];
        inUseByOwner = new int[slots.count()];
        untouchedEndsByOwner = new int[slots.count()];
    }

    /**
     * Checks a placement, and returns the check for its sums.
     *
     * @throws IllegalStateException at the first contradiction
     */
    public static ConsistencyCheck of(BestFit placement) {
        final ConsistencyCheck check = new ConsistencyCheck(placement);
        check.regions();
        check.indexes();
        check.slabs();
        return check;
    }

    /** Returns the bytes of all regions. */
    public long regionBytes() {
        return regionBytes;
    }

    /** Returns the bytes of all live chunks. */
    public long inUseBytes() {
        return inUseBytes;
    }

    /** Returns the bytes that the callers of all live chunks requested. */
    public long requestedBytes() {
        return requestedBytes;
    }

    /**
     * Throws unless a claim holds.
     *
     * @throws IllegalStateException if it does not hold; the message has {@code what} and {@code where}
     */
    public static void expect(boolean holds, String what, long where) {
        if (!holds) {
            throw new IllegalStateException("inconsistent arena: " + what + " at " + where);
        }
    }

    private void regions() {
        final Regions regions = placement.regions;
        for (int i = 0; i < regions.count(); i++) {
            final Region region = regions.at(i);
            expect(regions.get(region.id) == region, "region by id", region.id);
            expect(regions.find(region.base) == region, "region by its first byte", region.id);
            expect(regions.find(region.base + region.byteSize() - 1) == region, "region by its last byte", region.id);
            regionBytes += region.byteSize();
            region(region);
        }
        expect(records == chunks.count(), "records without a region", chunks.count());
    }

    private void region(Region region) {
        int previous = Chunks.NONE;
        int inUse = 0;
        long end = 0;
        long windows = 1;
        long lastWindow = 0;
        int inWindow = 0;
        for (int chunk = region.first; chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            final long offset = chunks.offset(chunk);
            expect(chunks.region(chunk) == region.id, "region of a chunk", offset);
            expect(chunks.previous(chunk) == previous, "link to the previous chunk", offset);
            expect(offset == end, "start of a chunk", offset);
            expect(placement.granules(region, chunk) > 0, "size of a chunk", offset);
            expect(chunks.isSlab(chunk) || region.startingAt(placement, offset) == chunk, "address index", offset);
            end = offset + placement.granules(region, chunk);
            if (offset / Region.WINDOW_GRANULES != lastWindow) {
                expect(
                        inWindow == region.chunksInWindow(placement, lastWindow),
                        "address index of a window",
                        lastWindow);
                windows++;
                inWindow = 0;
                lastWindow = offset / Region.WINDOW_GRANULES;
            }
            inWindow++;
            records++;
            if (chunks.isFree(chunk)) {
                freeChunk(region, chunk, previous);
            } else {
                inUse++;
                inUseByOwner[chunks.owner(chunk)]++;
            }
            if (chunks.isSlab(chunk)) {
                expect(!chunks.isFree(chunk), "slab and free", offset);
                slab(region, chunk, offset, end - offset);
                windows += (end - offset) / Region.WINDOW_GRANULES - 1;
            } else if (!chunks.isFree(chunk)) {
                inUseBytes += Granules.toBytes(placement.granules(region, chunk));
                requestedBytes += chunks.requested(chunk);
            }
            previous = chunk;
        }
        expect(end == region.granules, "end of the chunks of a region", end);
        expect(inUse == region.chunksInUse, "chunks in use in a region", region.chunksInUse);
        expect(
                inWindow == region.chunksInWindow(placement, lastWindow),
                "address index of the last window",
                lastWindow);
        expect(windows == region.filledWindows(), "windows of the address index", region.filledWindows());
    }

    private void slab(Region region, int chunk, long offset, long granules) {
        final Slabs all = placement.slabs;
        final int slab = chunks.slab(chunk);
        expect(all.exists(slab) && all.chunk(slab) == chunk, "chunk of a slab", offset);
        expect(all.address(Slabs.unit(slab, 0)) == region.address(offset), "address of a slab", offset);
        final int unit = all.unitGranules(slab);
        expect(granules == (long) unit * Slabs.unitsOf(unit), "size of a slab", offset);
        for (long at = offset; at < offset + granules; at += Region.WINDOW_GRANULES) {
            expect(region.slabAt(at) == slab, "address index of a slab", at);
        }
        if (all.free(slab) != 0) {
            expect(all.isLinked(slab), "list of a slab", offset);
            listedSlabs++;
        }
        slabs++;
        inUseBytes += all.inUse(slab);
        requestedBytes += all.requestedBytes(slab);
    }

    private void slabs() {
        expect(placement.slabs.slabs() == slabs, "slabs without a chunk", slabs);
        expect(placement.slabs.listed() == listedSlabs, "slabs on lists", listedSlabs);
    }

    private void freeChunk(Region region, int chunk, int previous) {
        final int owner = chunks.owner(chunk);
        final long granules = placement.granules(region, chunk);
        final long address = placement.address(region, chunk);
        expect(
                previous == Chunks.NONE || !chunks.isFree(previous) || !placement.haveMergeableOwners(previous, chunk),
                "free neighbours that are not one",
                address);
        final long key = SizeOrder.key(granules, address);
        expect(slots.get(owner).free.ceiling(key) == chunk, "index of free chunks", address);
        freeByOwner[owner]++;
        final FreeIndexes all = slots.all;
        expect(
                all == null || owner == StreamSlots.UNBOUND || all.free.ceiling(key) == chunk,
                "index of free chunks of all owners",
                address);
        if (owner != StreamSlots.UNBOUND) {
            final long head = chunks.untouchedHead(chunk);
            final long tail = chunks.untouchedTail(chunk);
            expect(head + tail < granules, "untouched ends", address);
            untouchedEnd(chunk, owner, head, address);
            untouchedEnd(chunk, owner, tail, address + Granules.toBytes(granules - tail));
        }
    }

    private void untouchedEnd(int chunk, int owner, long granules, long address) {
        if (granules > 0) {
            final long key = SizeOrder.key(granules, address);
            expect(slots.get(owner).untouchedEnds.ceiling(key) == chunk, "index of untouched ends", address);
            final FreeIndexes all = slots.all;
            expect(
                    all == null || all.untouchedEnds.ceiling(key) == chunk,
                    "index of untouched ends of all owners",
                    address);
            untouchedEndsByOwner[owner]++;
        }
    }

    private void indexes() {
        final FreeIndexes all = slots.all;
        if (all != null) {
            expect(all.free.isConsistent(), "index of all owners", 0);
            expect(all.untouchedEnds.isConsistent(), "index of untouched ends of all owners", 0);
            final int free = Arrays.stream(freeByOwner).sum() - freeByOwner[StreamSlots.UNBOUND];
            expect(all.free.size() == free, "free chunks of all owners", all.free.size());
            final int ends = Arrays.stream(untouchedEndsByOwner).sum();
            expect(all.untouchedEnds.size() == ends, "untouched ends of all owners", all.untouchedEnds.size());
        }
        for (int number = 0; number < slots.count(); number++) {
            final Slot slot = slots.get(number);
            expect(slot.free.isConsistent(), "index of owner", number);
            expect(slot.free.size() == freeByOwner[number], "free chunks of owner " + number, slot.free.size());
            expect(slot.chunksInUse == inUseByOwner[number], "chunks in use by owner " + number, slot.chunksInUse);
            expect(slot.stream == null || slots.find(slot.stream.id()) == slot, "table of streams", number);
            expect(slot.stream != null || number == 0 || slot.free.isEmpty(), "memory of a released owner", number);
            if (number != StreamSlots.UNBOUND) {
                expect(slot.untouchedEnds.isConsistent(), "index of untouched ends of owner", number);
                expect(slot.untouchedEnds.size() == untouchedEndsByOwner[number], "untouched ends of owner", number);
            }
        }
    }
}
