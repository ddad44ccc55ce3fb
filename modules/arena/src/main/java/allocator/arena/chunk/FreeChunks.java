package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;

/**
 * The free chunks of a lane, each in the index of its owner; a chunk without owner is in that of slot 0. The untouched
 * head and tail of an owned chunk are in a second index of the owner.
 */
final class FreeChunks {
    private final SortedTrees trees = new SortedTrees();
    final StreamSlots slots = new StreamSlots(trees);

    private final Chunks chunks;

    /* A field, as each load on the way to the index waits for the one before. */
    private final FreeIndex unbound = slots.unbound().free;

    FreeChunks(Chunks chunks) {
        this.chunks = chunks;
    }

    static long key(Region region, long offset, long granules) {
        return SizeOrder.key(granules, region.addressAt(offset));
    }

    /** Makes room, so that the next {@code inserts} entries are made without allocating. */
    void ensureSpare(int inserts) {
        trees.ensureSpare(inserts);
    }

    /** Inserts a free chunk. Call {@link #ensureSpare} before. */
    void insertFree(Region region, int chunk, int owner, long offset, long granules) {
        final long key = key(region, offset, granules);
        if (owner == StreamSlots.UNBOUND) {
            unbound.add(key, chunk);
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
    }

    /** Removes a free chunk. */
    void removeFree(Region region, int chunk, int owner, long offset, long granules) {
        final long key = key(region, offset, granules);
        if (owner == StreamSlots.UNBOUND) {
            unbound.remove(key);
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
    }

    /** Returns the bytes of Java heap that the indexes and the slots take. */
    long bookkeepingBytes() {
        return trees.bookkeepingBytes() + slots.bookkeepingBytes();
    }
}
