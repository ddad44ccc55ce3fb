package allocator.arena;

import allocator.arena.StreamSlots.Slot;

/**
 * Walks an arena's structures and compares them with one another: chunks with their region, free chunks with the
 * indexes, the address index with the chunks, counters with sums.
 */
final class ConsistencyCheck {
    private final Placement placement;
    private final Chunks chunks;

    private long records;
    private long regionBytes;
    private int kept;
    private long keptUnits;
    private long inUseBytes;
    private long requestedBytes;
    private final int[] freeByOwner;
    private final int[] inUseByOwner;
    private final int[] cleanEndsByOwner;

    private ConsistencyCheck(Placement placement) {
        this.placement = placement;
        chunks = placement.chunks;
        freeByOwner = new int[placement.slots.count()];
        inUseByOwner = new int[placement.slots.count()];
        cleanEndsByOwner = new int[placement.slots.count()];
    }

    /**
     * Checks everything.
     *
     * @throws IllegalStateException at the first contradiction
     */
    static void run(
            Placement placement, int kept, long keptUnits, Counters counters, long reservedBytes, long heldElsewhere) {
        final ConsistencyCheck check = new ConsistencyCheck(placement);
        check.regions();
        check.indexes();
        expect(kept == check.kept, "kept chunks", kept);
        expect(keptUnits == check.keptUnits, "units of kept chunks", keptUnits);
        expect(counters.inUse() == check.inUseBytes + reservedBytes, "bytes in use", counters.inUse());
        expect(counters.requested() == check.requestedBytes + reservedBytes, "requested bytes", counters.requested());
        expect(
                counters.held() == check.regionBytes + reservedBytes + heldElsewhere,
                "bytes held, in regions " + check.regionBytes,
                counters.held());
    }

    private static void expect(boolean holds, String what, long where) {
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
        long blocks = 1;
        long lastBlock = 0;
        int inBlock = 0;
        for (int chunk = placement.startingAt(region, 0); chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            final long offset = chunks.offset(chunk);
            expect(chunks.region(chunk) == region.id, "region of a chunk", offset);
            expect(chunks.previous(chunk) == previous, "link to the previous chunk", offset);
            expect(offset == end, "start of a chunk", offset);
            expect(placement.units(chunk) > 0, "size of a chunk", offset);
            expect(placement.startingAt(region, offset) == chunk, "address index", offset);
            end = offset + placement.units(chunk);
            if (offset / Region.BLOCK_UNITS != lastBlock) {
                expect(inBlock == inBlock(region, lastBlock), "address index of a block", lastBlock);
                blocks++;
                inBlock = 0;
                lastBlock = offset / Region.BLOCK_UNITS;
            }
            inBlock++;
            records++;
            if (chunks.isFree(chunk)) {
                freeChunk(chunk, previous);
            } else {
                inUse++;
                inUseByOwner[chunks.owner(chunk)]++;
            }
            if (chunks.isKept(chunk)) {
                expect(!chunks.isFree(chunk), "kept and free", offset);
                kept++;
                keptUnits += placement.units(chunk);
            } else if (!chunks.isFree(chunk)) {
                inUseBytes += Units.toBytes(placement.units(chunk));
                requestedBytes += chunks.requested(chunk);
            }
            previous = chunk;
        }
        expect(end == region.units, "end of the chunks of a region", end);
        expect(inUse == region.chunksInUse, "chunks in use in a region", region.chunksInUse);
        expect(inBlock == inBlock(region, lastBlock), "address index of the last block", lastBlock);
        expect(blocks == region.filledBlocks(), "blocks of the address index", region.filledBlocks());
    }

    private int inBlock(Region region, long block) {
        return region.chunksInBlock(chunks, placement.tables, block);
    }

    private void freeChunk(int chunk, int previous) {
        final int owner = chunks.owner(chunk);
        final long units = placement.units(chunk);
        final long address = placement.address(chunk);
        expect(
                previous == Chunks.NONE || !chunks.isFree(previous) || !placement.haveMergeableOwners(previous, chunk),
                "free neighbours that are not one",
                address);
        final long key = SizeOrder.key(units, address);
        expect(placement.slots.get(owner).free.ceiling(key) == chunk, "index of free chunks", address);
        freeByOwner[owner]++;
        if (owner != StreamSlots.UNTIED) {
            final long head = chunks.cleanHead(chunk);
            final long tail = chunks.cleanTail(chunk);
            expect(head + tail < units, "clean ends", address);
            cleanEnd(chunk, owner, head, address);
            cleanEnd(chunk, owner, tail, address + Units.toBytes(units - tail));
        }
    }

    private void cleanEnd(int chunk, int owner, long units, long address) {
        if (units > 0) {
            final long key = SizeOrder.key(units, address);
            expect(placement.slots.get(owner).cleanEnds.ceiling(key) == chunk, "index of clean ends", address);
            cleanEndsByOwner[owner]++;
        }
    }

    private void indexes() {
        for (int number = 0; number < placement.slots.count(); number++) {
            final Slot slot = placement.slots.get(number);
            expect(slot.free.isConsistent(), "index of owner", number);
            expect(slot.free.size() == freeByOwner[number], "free chunks of owner " + number, slot.free.size());
            expect(slot.chunksInUse == inUseByOwner[number], "chunks in use by owner " + number, slot.chunksInUse);
            expect(slot.stream != null || number == 0 || slot.free.isEmpty(), "memory of a released owner", number);
            if (number != StreamSlots.UNTIED) {
                expect(slot.cleanEnds.isConsistent(), "index of clean ends of owner", number);
                expect(slot.cleanEnds.size() == cleanEndsByOwner[number], "clean ends of owner", number);
            }
        }
    }
}
