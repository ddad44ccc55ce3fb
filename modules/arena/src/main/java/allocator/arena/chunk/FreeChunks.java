package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;

/**
 * The free chunks of a lane, each in the index of its owner; a chunk without owner is in that of slot 0. The untouched
 * head and tail of an owned chunk are in a second index of the owner. With many owners, indexes of all of them have
 * these entries as well.
 */
class FreeChunks extends ChunkMap {
    final SortedTrees trees = new SortedTrees();
    final StreamSlots slots = new StreamSlots(trees);

    /* A field, as each load on the way to the index waits for the one before. */
    final FreeIndex unboundFree = slots.unbound().free;

    static long key(Region region, long offset, long granules) {
        return SizeOrder.key(granules, region.address(offset));
    }

    /** Inserts a free chunk. Call {@link ChunkStore#ensureSpare} before. */
    final void insertFree(Region region, int chunk, int owner, long offset, long granules) {
        final long key = key(region, offset, granules);
        if (owner == StreamSlots.UNBOUND) {
            unboundFree.add(key, chunk);
            return;
        }
        final Slot slot = slots.get(owner);
        slot.free.add(key, chunk);
        if (chunks.hasUntouchedEnds(chunk)) {
            final long head = chunks.untouchedHead(chunk);
            final long tail = chunks.untouchedTail(chunk);
            if (head > 0) {
                slot.untouchedEnds.add(key(region, offset, head), chunk);
            }
            if (tail > 0) {
                slot.untouchedEnds.add(key(region, offset + granules - tail, tail), chunk);
            }
        }
        if (slots.all != null) {
            insertForAll(slots.all, region, chunk, offset, granules);
        }
    }

    private void insertForAll(FreeIndexes all, Region region, int chunk, long offset, long granules) {
        all.free.add(key(region, offset, granules), chunk);
        final long head = chunks.untouchedHead(chunk);
        final long tail = chunks.untouchedTail(chunk);
        if (head > 0) {
            all.untouchedEnds.add(key(region, offset, head), chunk);
        }
        if (tail > 0) {
            all.untouchedEnds.add(key(region, offset + granules - tail, tail), chunk);
        }
    }

    /** Removes a free chunk. */
    final void removeFree(Region region, int chunk, int owner, long offset, long granules) {
        final long key = key(region, offset, granules);
        if (owner == StreamSlots.UNBOUND) {
            unboundFree.remove(key);
            return;
        }
        final Slot slot = slots.get(owner);
        slot.free.remove(key);
        if (chunks.hasUntouchedEnds(chunk)) {
            final long head = chunks.untouchedHead(chunk);
            final long tail = chunks.untouchedTail(chunk);
            if (head > 0) {
                slot.untouchedEnds.remove(key(region, offset, head));
            }
            if (tail > 0) {
                slot.untouchedEnds.remove(key(region, offset + granules - tail, tail));
            }
        }
        if (slots.all != null) {
            removeForAll(slots.all, region, chunk, offset, granules);
        }
    }

    private void removeForAll(FreeIndexes all, Region region, int chunk, long offset, long granules) {
        all.free.remove(key(region, offset, granules));
        final long head = chunks.untouchedHead(chunk);
        final long tail = chunks.untouchedTail(chunk);
        if (head > 0) {
            all.untouchedEnds.remove(key(region, offset, head));
        }
        if (tail > 0) {
            all.untouchedEnds.remove(key(region, offset + granules - tail, tail));
        }
    }
}
