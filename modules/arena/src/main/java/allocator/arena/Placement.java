package allocator.arena;

import allocator.arena.StreamSlots.Slot;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides which chunk serves a request, splits chunks and coalesces them. Knows neither locks nor limits nor the upstream
 * allocator.
 *
 * <p><b>Best fit.</b> A request takes the least chunk in order of (size, address) that is large enough and that the asker
 * may use. A chunk of twice the request or more, or with {@code maxDeadUnits} to spare, is split: the request gets the
 * front, the rest stays free.
 *
 * <p><b>Owners.</b> Free memory is <em>untied</em>, or it is owned by the stream that freed it last and carries the
 * stream's sync id of that moment, its stamp. Anybody may use untied memory; the owner may use its own; another stream
 * may use it once it has waited for an event of the owner that is later than the stamp. What is handed on changes its
 * owner when it is freed again.
 *
 * <p><b>Coalescing.</b> Free neighbours are one chunk, if they have the same owner or one of them is untied. Otherwise a
 * stream that is alone in an arena would be worse off than no stream at all: what it frees could not rejoin the
 * untouched rest of a region. The price would be that untied memory is lost to other streams; so an owned chunk
 * remembers its <em>clean ends</em>, the units at its head and its tail that the owner never used. Who finds nothing
 * else takes the best fitting clean end, before the arena extends.
 *
 * <pre>
 *   chunks      | in use | free, owner s, stamp 7              | in use | free, untied |
 *   an owned one          | clean head | used by s | clean tail |
 * </pre>
 *
 * <p>Invariants, checked by {@link ConsistencyCheck}: the chunks of a region cover it without gaps; two free neighbours
 * have two different owners; a free chunk is entered once in its owner's index, and each of its clean ends once in the
 * index of clean ends.
 *
 * <p>Costs: finding, freeing and splitting are logarithmic in the number of free chunks. The search of a stream looks at
 * every owner for which it has waited, and there at every chunk that is too fresh for it. Releasing a stream is in
 * proportion to its free chunks; attaching and detaching a region to the region's.
 */
final class Placement {
    private static final int NONE = Chunks.NONE;

    /** The most entries that one operation makes in the indexes: three chunks, each with two clean ends. */
    private static final int MAX_INSERTS = 9;

    final Chunks chunks = new Chunks();
    final Regions regions = new Regions();
    final SortedTrees trees = new SortedTrees();
    final StreamSlots slots = new StreamSlots(trees);

    /** The clean ends of owned chunks: keys are those of the ends, values the chunks. */
    final FreeIndex cleanEnds = new FreeIndex(trees);

    private final long maxDeadUnits;

    Placement(long maxDeadUnits) {
        this.maxDeadUnits = maxDeadUnits;
    }

    /** The asker for a stream, and for no stream. */
    Slot asker(@Nullable SyncStream stream) {
        if (stream == null) {
            return slots.untied();
        }
        chunks.trackCleanEnds();
        return slots.findOrAdd(stream);
    }

    // ---- what chunks are

    long units(int chunk) {
        final int next = chunks.next(chunk);
        final long end = next == NONE ? regions.get(chunks.region(chunk)).units : chunks.offset(next);
        return end - chunks.offset(chunk);
    }

    long address(int chunk) {
        return regions.get(chunks.region(chunk)).address(chunks.offset(chunk));
    }

    private long key(int chunk) {
        return SizeOrder.key(units(chunk), address(chunk));
    }

    private long tailKey(int chunk, long tail) {
        return SizeOrder.key(tail, address(chunk) + Units.toBytes(units(chunk) - tail));
    }

    // ---- taking

    /**
     * Takes memory for {@code asker}.
     *
     * @return the chunk, {@link #NONE} if the asker may use none that is large enough
     */
    int take(long units, long requested, Slot asker) {
        prepare();
        int chunk = find(units, asker);
        if (chunk != NONE) {
            unshelve(chunk);
        } else {
            chunk = carveCleanEnd(units);
            if (chunk == NONE) {
                return NONE;
            }
        }
        handOut(chunk, units, requested, asker);
        return chunk;
    }

    /** Makes room in the tables, so that no operation fails half way. */
    private void prepare() {
        chunks.ensureSpare(3);
        trees.ensureSpare(MAX_INSERTS);
    }

    private int find(long units, Slot asker) {
        final long least = SizeOrder.first(units);
        final int untied = slots.untied().free.ceiling(least);
        return slots.count() == 1 ? untied : findAmongOwned(least, asker, untied);
    }

    private int findAmongOwned(long least, Slot asker, int untied) {
        int best = untied;
        long bestKey = best == NONE ? SizeOrder.END : key(best);
        for (int number = 1; number < slots.count(); number++) {
            final Slot owner = slots.get(number);
            final long waited = owner.free.isEmpty() ? 0 : waited(asker, owner);
            int chunk = waited == 0 ? NONE : owner.free.ceiling(least);
            while (chunk != NONE) {
                final long key = key(chunk);
                if (key >= bestKey) {
                    break;
                }
                if (chunks.stamp(chunk) < waited) {
                    best = chunk;
                    bestKey = key;
                    break;
                }
                chunk = owner.free.ceiling(key + 1);
            }
        }
        return best;
    }

    /** Below which stamp {@code asker} may use the memory of {@code owner}. */
    private static long waited(Slot asker, Slot owner) {
        if (asker == owner) {
            return Long.MAX_VALUE;
        }
        if (asker.stream == null || owner.stream == null) {
            return 0;
        }
        return Math.min(asker.stream.lastWaitedSyncId(owner.stream), Chunks.MAX_STAMP);
    }

    /** The units of the largest chunk that {@code asker} may use as it is, clean ends included. */
    long largestFor(Slot asker) {
        long largest = largestIn(slots.untied().free);
        for (int number = 1; number < slots.count(); number++) {
            final Slot owner = slots.get(number);
            final long waited = waited(asker, owner);
            if (waited == Long.MAX_VALUE) {
                largest = Math.max(largest, largestIn(owner.free));
            } else if (waited > 0) {
                for (int chunk = owner.free.first(); chunk != NONE; chunk = owner.free.ceiling(key(chunk) + 1)) {
                    largest = chunks.stamp(chunk) < waited ? Math.max(largest, units(chunk)) : largest;
                }
            }
        }
        final int clean = cleanEnds.last();
        if (clean != NONE) {
            largest = Math.max(largest, Math.max(chunks.cleanHead(clean), chunks.cleanTail(clean)));
        }
        return largest;
    }

    /** The units of the largest free chunk, whoever owns it. */
    long largest() {
        long largest = 0;
        for (int number = 0; number < slots.count(); number++) {
            largest = Math.max(largest, largestIn(slots.get(number).free));
        }
        return largest;
    }

    private long largestIn(FreeIndex index) {
        final int chunk = index.last();
        return chunk == NONE ? 0 : units(chunk);
    }

    /** Cuts the best fitting clean end off its chunk; it is an untied chunk then, and on no shelf. */
    private int carveCleanEnd(long units) {
        final int chunk = cleanEnds.ceiling(SizeOrder.first(units));
        if (chunk == NONE) {
            return NONE;
        }
        final long head = chunks.cleanHead(chunk);
        final long tail = chunks.cleanTail(chunk);
        final boolean takeHead =
                head >= units && (tail < units || SizeOrder.key(head, address(chunk)) < tailKey(chunk, tail));
        unshelve(chunk);
        final int owner = chunks.owner(chunk);
        final long stamp = chunks.stamp(chunk);
        final int right = split(chunk, takeHead ? head : units(chunk) - tail);
        final int used = takeHead ? right : chunk;
        final int clean = takeHead ? chunk : right;
        chunks.setFree(used, owner, stamp);
        chunks.setCleanEnds(used, takeHead ? 0 : head, takeHead ? tail : 0);
        chunks.setFree(clean, StreamSlots.UNTIED, 0);
        shelve(used);
        return clean;
    }

    /** Gives the front of a free chunk to {@code asker}, and shelves what is left. */
    private void handOut(int chunk, long units, long requested, Slot asker) {
        final long spare = units(chunk) - units;
        if (spare >= units || spare >= maxDeadUnits) {
            final int rest = split(chunk, units);
            inherit(rest, chunk, spare);
            shelve(joinedWithNext(rest));
        }
        chunks.setInUse(chunk, asker.number, requested);
        regions.get(chunks.region(chunk)).chunksInUse++;
        asker.chunksInUse++;
    }

    /** Cuts a chunk after {@code units}; the new chunk on the right is free and untied. */
    private int split(int chunk, long units) {
        final int id = chunks.region(chunk);
        final int right = chunks.create(id, chunks.offset(chunk) + units);
        final int next = chunks.next(chunk);
        chunks.link(chunk, right);
        chunks.link(right, next);
        regions.get(id).enter(chunks, right);
        return right;
    }

    /** Makes {@code rest}, the last {@code units} of a chunk, what it was as a part of it. */
    private void inherit(int rest, int chunk, long units) {
        final int owner = chunks.owner(chunk);
        final long tail = owner == StreamSlots.UNTIED ? units : chunks.cleanTail(chunk);
        if (tail < units) {
            chunks.setFree(rest, owner, chunks.stamp(chunk));
            final long taken = units(chunk);
            chunks.setCleanEnds(rest, Math.max(0, chunks.cleanHead(chunk) - taken), tail);
        }
    }

    // ---- giving back

    /** Frees a chunk in use. */
    void free(int chunk) {
        prepare();
        final Slot owner = slots.get(chunks.owner(chunk));
        owner.chunksInUse--;
        final Region region = regions.get(chunks.region(chunk));
        region.chunksInUse--;
        region.frees++;
        final SyncStream stream = owner.stream;
        if (stream == null) {
            chunks.setFree(chunk, StreamSlots.UNTIED, 0);
        } else {
            chunks.setFree(chunk, owner.number, stream.syncId());
            chunks.setCleanEnds(chunk, 0, 0);
        }
        coalesce(chunk);
    }

    /** Joins a free chunk that is on no shelf with its neighbours, and shelves the result. */
    private void coalesce(int chunk) {
        int joined = joinedWithNext(chunk);
        final int previous = chunks.previous(joined);
        if (previous != NONE && areJoinable(previous, joined)) {
            unshelve(previous);
            join(previous, joined);
            joined = previous;
        }
        shelve(joined);
    }

    /** Joins a free chunk that is on no shelf with the next one, if that is free and may be joined. */
    private int joinedWithNext(int chunk) {
        final int next = chunks.next(chunk);
        if (next != NONE && areJoinable(chunk, next)) {
            unshelve(next);
            join(chunk, next);
        }
        return chunk;
    }

    private boolean areJoinable(int left, int right) {
        return chunks.isFree(left) && chunks.isFree(right) && haveJoinableOwners(left, right);
    }

    boolean haveJoinableOwners(int left, int right) {
        final int leftOwner = chunks.owner(left);
        final int rightOwner = chunks.owner(right);
        return leftOwner == rightOwner || leftOwner == StreamSlots.UNTIED || rightOwner == StreamSlots.UNTIED;
    }

    /** Makes {@code left} and its neighbour {@code right}, both free and on no shelf, one chunk. */
    private void join(int left, int right) {
        final int owner = Math.max(chunks.owner(left), chunks.owner(right));
        if (owner != StreamSlots.UNTIED) {
            final long leftUnits = units(left);
            final long rightUnits = units(right);
            final long head = chunks.owner(left) == StreamSlots.UNTIED
                    ? leftUnits + chunks.cleanHead(right)
                    : chunks.cleanHead(left);
            final long tail = chunks.owner(right) == StreamSlots.UNTIED
                    ? rightUnits + chunks.cleanTail(left)
                    : chunks.cleanTail(right);
            chunks.setFree(left, owner, Math.max(chunks.stamp(left), chunks.stamp(right)));
            chunks.setCleanEnds(left, head, tail);
        }
        regions.get(chunks.region(right)).remove(chunks, right);
        chunks.link(left, chunks.next(right));
        chunks.retire(right);
    }

    /** Ends the tie between a stream and its memory, free and in use. */
    void release(SyncStream stream) {
        final Slot slot = slots.find(stream);
        if (slot == null) {
            return;
        }
        slots.forget(slot);
        for (int chunk = slot.free.first(); chunk != NONE; chunk = slot.free.first()) {
            prepare();
            unshelve(chunk);
            chunks.setFree(chunk, StreamSlots.UNTIED, 0);
            coalesce(chunk);
        }
    }

    // ---- the indexes

    private void shelve(int chunk) {
        slots.get(chunks.owner(chunk)).free.add(key(chunk), chunk);
        if (chunks.owner(chunk) != StreamSlots.UNTIED) {
            final long head = chunks.cleanHead(chunk);
            final long tail = chunks.cleanTail(chunk);
            if (head > 0) {
                cleanEnds.add(SizeOrder.key(head, address(chunk)), chunk);
            }
            if (tail > 0) {
                cleanEnds.add(tailKey(chunk, tail), chunk);
            }
        }
    }

    private void unshelve(int chunk) {
        slots.get(chunks.owner(chunk)).free.remove(key(chunk));
        if (chunks.owner(chunk) != StreamSlots.UNTIED) {
            final long head = chunks.cleanHead(chunk);
            final long tail = chunks.cleanTail(chunk);
            if (head > 0) {
                cleanEnds.remove(SizeOrder.key(head, address(chunk)));
            }
            if (tail > 0) {
                cleanEnds.remove(tailKey(chunk, tail));
            }
        }
    }

    // ---- regions

    /** Makes the next {@link #attach} of a region possible. */
    void prepareRegion() {
        prepare();
        regions.ensureSpare();
    }

    /** Adds a new region, wholly free. Call {@link #prepareRegion} before. */
    void attach(Region region) {
        regions.add(region);
        final int chunk = chunks.create(region.id, 0);
        region.enter(chunks, chunk);
        shelve(chunk);
    }

    /** Removes a region without chunks in use; its records are gone then. */
    void detach(Region region) {
        int chunk = region.firstChunk();
        while (chunk != NONE) {
            final int next = chunks.next(chunk);
            unshelve(chunk);
            chunk = next;
        }
        chunk = region.firstChunk();
        while (chunk != NONE) {
            final int next = chunks.next(chunk);
            chunks.retire(chunk);
            chunk = next;
        }
        regions.remove(region);
    }

    // ---- looking

    /** Adds the streams that own free memory in a region. */
    void addOwners(Region region, Set<SyncStream> owners) {
        for (int chunk = region.firstChunk(); chunk != NONE; chunk = chunks.next(chunk)) {
            final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
            if (stream != null) {
                owners.add(stream);
            }
        }
    }

    /** A region as a value. */
    ArenaSnapshot.Region snapshot(Region region) {
        final List<ArenaSnapshot.Chunk> list = new ArrayList<>();
        for (int chunk = region.firstChunk(); chunk != NONE; chunk = chunks.next(chunk)) {
            final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
            final boolean isFree = chunks.isFree(chunk);
            final boolean hasStamp = isFree && stream != null;
            list.add(new ArenaSnapshot.Chunk(
                    address(chunk),
                    Units.toBytes(units(chunk)),
                    isFree,
                    isFree ? 0 : chunks.requested(chunk),
                    stream == null ? 0 : stream.id(),
                    hasStamp ? chunks.stamp(chunk) : 0,
                    hasStamp ? Units.toBytes(chunks.cleanHead(chunk)) : 0,
                    hasStamp ? Units.toBytes(chunks.cleanTail(chunk)) : 0));
        }
        return new ArenaSnapshot.Region(region.id, region.base, region.byteSize(), list);
    }

    /** Bytes of Java heap that all tables take. */
    long bookkeepingBytes() {
        return chunks.bookkeepingBytes()
                + regions.bookkeepingBytes()
                + trees.bookkeepingBytes()
                + slots.bookkeepingBytes()
                + cleanEnds.bookkeepingBytes();
    }
}
