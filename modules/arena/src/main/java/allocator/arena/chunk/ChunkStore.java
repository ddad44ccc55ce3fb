package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;

/**
 * The regions of a lane and the chunks in them: which chunk lies where, which are free, and how they split and merge.
 * The records, the regions' indexes of addresses and the owners' indexes of free chunks change together here.
 *
 * <p>Each free chunk is in the index of its owner; a chunk without owner is in that of slot 0. Free neighbours with the
 * same owner are one chunk, and so are free neighbours of which one is unbound. If they were not, a single stream would
 * be worse off than no stream: what it frees could not rejoin the untouched rest of a region. As the merged chunk is
 * the stream's, unbound memory in it would be lost to other streams; so an owned chunk remembers its <em>untouched head
 * and tail</em>, the granules at its ends that the owner never used. They are in a second index of the owner. With many
 * owners, indexes of all of them have these entries as well.
 *
 * <pre>
 *   chunks           | in use | free, owner s, stamp 7                      | in use | free, unbound |
 *   an owned chunk            | untouched head | used by s | untouched tail |
 * </pre>
 *
 * <p>The base of {@link BestFit}, and not an object of its own, so that a policy reaches the records through one
 * reference: compiled code then loads an array, and checks an index, once for each call and not once for each object.
 */
class ChunkStore {
    private static final int NONE = Chunks.NONE;

    /** The most entries that one operation makes in the indexes of owners: three chunks, each with two ends. */
    private static final int MAX_INSERTS = 9;

    final Chunks chunks = new Chunks();
    final Regions regions = new Regions();
    final WindowTables tables = new WindowTables();
    final SortedTrees trees = new SortedTrees();
    final StreamSlots slots = new StreamSlots(trees);
    final Slabs slabs = new Slabs();

    /* A field, as each load on the way to the index waits for the one before. */
    final FreeIndex unboundFree = slots.unbound().free;

    /** Returns a region without memory, to be added later, with an id that no other region has. */
    public final Region newRegion(long granules) {
        return new Region(regions.freeId(), granules, regions.count() == 0);
    }

    /** Makes room for {@link #attach} with a region of up to {@code granules}. */
    public final void prepareRegion(long granules) {
        ensureSpare();
        slots.ensureClasses(granules);
        regions.ensureSpare();
    }

    /** Adds a region, wholly free. Call {@link #prepareRegion} before. */
    public final void attach(Region region) {
        final int chunk = chunks.create(region.id, 0);
        region.first = chunk;
        regions.add(region);
        region.enter(this, chunk, 0);
        insertFree(region, chunk, StreamSlots.UNBOUND, 0, region.granules);
    }

    /** Removes a region whose chunks are all free. */
    public final void detach(Region region) {
        for (int chunk = region.first; chunk != NONE; chunk = chunks.next(chunk)) {
            removeFree(region, chunk, chunks.owner(chunk), chunks.offset(chunk), granules(region, chunk));
        }
        regions.remove(region);
        region.clear(this);
        for (int chunk = region.first; chunk != NONE; ) {
            final int next = chunks.next(chunk);
            chunks.retire(chunk);
            chunk = next;
        }
    }

    /** Returns the region of a chunk. */
    protected final Region region(int chunk) {
        return regions.get(chunks.region(chunk));
    }

    /** Returns the size of a chunk in granules. */
    final long granules(int chunk) {
        return granules(region(chunk), chunk);
    }

    /** Returns the size of a chunk of {@code region} in granules. */
    public final long granules(Region region, int chunk) {
        final int next = chunks.next(chunk);
        return (next == Chunks.NONE ? region.granules : chunks.offset(next)) - chunks.offset(chunk);
    }

    /** Returns the address of a chunk of {@code region}. */
    public final long address(Region region, int chunk) {
        return region.address(chunks.offset(chunk));
    }

    /** Returns the live chunk that starts at {@code address}, {@link Chunks#NONE} if none does. */
    public final int liveChunk(Region region, long address) {
        final long offset = address - region.base;
        if (!Granules.isWhole(offset)) {
            return NONE;
        }
        final int chunk = region.startingAt(this, Granules.floor(offset));
        return chunk == NONE || !chunks.isLive(chunk) ? NONE : chunk;
    }

    /** Makes room in all tables, so that no operation fails half way. */
    final void ensureSpare() {
        chunks.ensureSpare(3);
        tables.ensureSpare();
        trees.ensureSpare(slots.count() == 1 ? 1 : slots.all == null ? MAX_INSERTS : 2 * MAX_INSERTS);
    }

    static long key(Region region, long offset, long granules) {
        return SizeOrder.key(granules, region.address(offset));
    }

    /** Inserts a free chunk. Call {@link #ensureSpare} before. */
    final void insertFree(Region region, int chunk, int owner, long offset, long granules) {
        if (owner == StreamSlots.UNBOUND) {
            unboundFree.add(key(region, offset, granules), chunk);
            return;
        }
        insertOwned(slots.get(owner), region, chunk, offset, granules);
        if (slots.all != null) {
            insertOwned(slots.all, region, chunk, offset, granules);
        }
    }

    private void insertOwned(FreeIndexes indexes, Region region, int chunk, long offset, long granules) {
        indexes.free.add(key(region, offset, granules), chunk);
        if (chunks.hasUntouchedEnds(chunk)) {
            final long head = chunks.untouchedHead(chunk);
            final long tail = chunks.untouchedTail(chunk);
            if (head > 0) {
                indexes.untouchedEnds.add(key(region, offset, head), chunk);
            }
            if (tail > 0) {
                indexes.untouchedEnds.add(key(region, offset + granules - tail, tail), chunk);
            }
        }
    }

    /** Removes a free chunk. */
    final void removeFree(Region region, int chunk, int owner, long offset, long granules) {
        if (owner == StreamSlots.UNBOUND) {
            unboundFree.remove(key(region, offset, granules));
            return;
        }
        removeOwned(slots.get(owner), region, chunk, offset, granules);
        if (slots.all != null) {
            removeOwned(slots.all, region, chunk, offset, granules);
        }
    }

    private void removeOwned(FreeIndexes indexes, Region region, int chunk, long offset, long granules) {
        indexes.free.remove(key(region, offset, granules));
        if (chunks.hasUntouchedEnds(chunk)) {
            final long head = chunks.untouchedHead(chunk);
            final long tail = chunks.untouchedTail(chunk);
            if (head > 0) {
                indexes.untouchedEnds.remove(key(region, offset, head));
            }
            if (tail > 0) {
                indexes.untouchedEnds.remove(key(region, offset + granules - tail, tail));
            }
        }
    }

    /**
     * Cuts the untouched head or tail with the key {@code key} off a free chunk, inserts the rest, and returns the part
     * cut off, which is free, unbound and in no index.
     *
     * @param cutGranules the size of that part
     * @param splitGranules where the caller will divide it
     */
    final int carve(Region region, int chunk, int owner, long key, long cutGranules, long splitGranules) {
        final long offset = chunks.offset(chunk);
        final long granules = granules(region, chunk);
        final long head = chunks.untouchedHead(chunk);
        final long tail = chunks.untouchedTail(chunk);
        final boolean isHead = head > 0 && key(region, offset, head) == key;
        final long cut = isHead ? offset + head : offset + granules - tail;
        region.ensureEntry(cut);
        region.ensureEntry((isHead ? offset : cut) + splitGranules);
        removeFree(region, chunk, owner, offset, granules);
        final int right = split(chunk, cut, cut - offset, offset + granules - cut);
        region.enter(this, right, cut);
        final int used = isHead ? right : chunk;
        insertFree(region, used, owner, isHead ? cut : offset, granules - cutGranules);
        return isHead ? chunk : right;
    }

    /** Splits a free chunk that is in no index; a part without memory that the owner has used has no owner. */
    final int split(int chunk, long offset, long left, long right) {
        final int owner = chunks.owner(chunk);
        if (owner == StreamSlots.UNBOUND) {
            return chunks.split(chunk, offset, 0, 0, 0, 0);
        }
        final long head = chunks.untouchedHead(chunk);
        final long tail = chunks.untouchedTail(chunk);
        final long owned = Chunks.ownedWord(owner, chunks.stamp(chunk));
        return chunks.split(
                chunk,
                offset,
                head >= left ? 0 : owned,
                Chunks.ends(head, Math.max(0, tail - right)),
                tail >= right ? 0 : owned,
                Chunks.ends(Math.max(0, head - left), tail));
    }

    /**
     * Takes a free chunk into use up to {@code offset}, and inserts the rest. The chunk is in no index, unless it was
     * found without an owner.
     *
     * @param foundOwner the owner of the chunk that was found
     * @param foundKey its key, which the rest replaces if it has no owner
     * @param granules the size of the rest
     * @param requester the owner of what is in use
     * @param requested the bytes that the caller requested
     */
    final void takeFront(
            Region region,
            int chunk,
            int foundOwner,
            long foundKey,
            long offset,
            long granules,
            int requester,
            long requested) {
        if (foundOwner == StreamSlots.UNBOUND) {
            final int rest = chunks.takeFront(chunk, offset, 0, 0, requester, requested);
            region.enter(this, rest, offset);
            unboundFree.replace(foundKey, key(region, offset, granules), rest);
            return;
        }
        final int owner = chunks.owner(chunk);
        long owned = 0;
        long ends = 0;
        if (owner != StreamSlots.UNBOUND && chunks.untouchedTail(chunk) < granules) {
            final long head = chunks.untouchedHead(chunk) + chunks.offset(chunk) - offset;
            owned = Chunks.ownedWord(owner, chunks.stamp(chunk));
            ends = Chunks.ends(Math.max(0, head), chunks.untouchedTail(chunk));
        }
        final int rest = chunks.takeFront(chunk, offset, owned, ends, requester, requested);
        region.enter(this, rest, offset);
        final long merged = mergeWithNext(region, rest, offset, granules);
        insertFree(region, rest, chunks.owner(rest), offset, merged);
    }

    /** Merges a free chunk that is in no index with its neighbours, and inserts the result. */
    final void coalesce(Region region, int chunk, long offset, long granules) {
        if (slots.count() == 1) {
            coalesceUnbound(region, chunk, offset, granules);
            return;
        }
        final long merged = mergeWithNext(region, chunk, offset, granules);
        final int previous = chunks.previous(chunk);
        if (previous != NONE && chunks.isFree(previous) && haveMergeableOwners(previous, chunk)) {
            final long previousOffset = chunks.offset(previous);
            final long previousGranules = offset - previousOffset;
            removeFree(region, previous, chunks.owner(previous), previousOffset, previousGranules);
            merge(region, previous, previousGranules, chunk, offset, merged);
            insertFree(region, previous, chunks.owner(previous), previousOffset, previousGranules + merged);
        } else {
            insertFree(region, chunk, chunks.owner(chunk), offset, merged);
        }
    }

    /** Does the same where there are no owners, and so replaces an entry where it can. */
    private void coalesceUnbound(Region region, int chunk, long offset, long granules) {
        final int next = chunks.next(chunk);
        final int previous = chunks.previous(chunk);
        final boolean isPreviousFree = previous != NONE && chunks.isFree(previous);
        long merged = granules;
        long nextKey = SizeOrder.END;
        if (next != NONE && chunks.isFree(next)) {
            final long nextOffset = offset + granules;
            final long nextGranules = granules(region, next);
            nextKey = key(region, nextOffset, nextGranules);
            merged += nextGranules;
            region.remove(this, next, nextOffset);
            chunks.join(chunk, next);
            if (isPreviousFree) {
                unboundFree.remove(nextKey);
            }
        }
        if (isPreviousFree) {
            final long previousOffset = chunks.offset(previous);
            final long previousGranules = offset - previousOffset;
            region.remove(this, chunk, offset);
            chunks.join(previous, chunk);
            unboundFree.replace(
                    key(region, previousOffset, previousGranules),
                    key(region, previousOffset, previousGranules + merged),
                    previous);
        } else if (nextKey != SizeOrder.END) {
            unboundFree.replace(nextKey, key(region, offset, merged), chunk);
        } else {
            unboundFree.add(key(region, offset, granules), chunk);
        }
    }

    /** Merges a free chunk that is in no index with the next one if free and mergeable; returns the result's size. */
    final long mergeWithNext(Region region, int chunk, long offset, long granules) {
        final int next = chunks.next(chunk);
        if (next == NONE || !chunks.isFree(next) || !haveMergeableOwners(chunk, next)) {
            return granules;
        }
        final long nextGranules = granules(region, next);
        removeFree(region, next, chunks.owner(next), offset + granules, nextGranules);
        merge(region, chunk, granules, next, offset + granules, nextGranules);
        return granules + nextGranules;
    }

    final boolean haveMergeableOwners(int left, int right) {
        final int leftOwner = chunks.owner(left);
        final int rightOwner = chunks.owner(right);
        return leftOwner == rightOwner || leftOwner == StreamSlots.UNBOUND || rightOwner == StreamSlots.UNBOUND;
    }

    /** Makes {@code left} and its neighbour {@code right}, both free and in no index, one chunk. */
    private void merge(Region region, int left, long leftGranules, int right, long rightOffset, long rightGranules) {
        region.remove(this, right, rightOffset);
        join(left, leftGranules, right, rightGranules);
    }

    /** Joins the records of {@code left} and its neighbour {@code right}, both free, as {@code left}. */
    final void join(int left, long leftGranules, int right, long rightGranules) {
        final int leftOwner = chunks.owner(left);
        final int rightOwner = chunks.owner(right);
        if (leftOwner == StreamSlots.UNBOUND && rightOwner == StreamSlots.UNBOUND) {
            chunks.join(left, right);
            return;
        }
        final long head = leftOwner == StreamSlots.UNBOUND
                ? leftGranules + chunks.untouchedHead(right)
                : chunks.untouchedHead(left);
        final long tail = rightOwner == StreamSlots.UNBOUND
                ? rightGranules + chunks.untouchedTail(left)
                : chunks.untouchedTail(right);
        final long stamp = Math.max(chunks.stamp(left), chunks.stamp(right));
        final long owned = Chunks.ownedWord(Math.max(leftOwner, rightOwner), stamp);
        chunks.join(left, right, owned, Chunks.ends(head, tail));
    }

    /** Unbinds the free chunks of an owner. */
    final void unbindFree(Slot slot) {
        for (int chunk = slot.free.first(); chunk != NONE; chunk = slot.free.first()) {
            ensureSpare();
            final Region region = region(chunk);
            final long offset = chunks.offset(chunk);
            final long granules = granules(region, chunk);
            removeFree(region, chunk, slot.number, offset, granules);
            chunks.setUnbound(chunk);
            coalesce(region, chunk, offset, granules);
        }
    }
}
