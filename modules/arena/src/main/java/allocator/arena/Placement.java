package allocator.arena;

import allocator.arena.StreamSlots.Slot;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides which chunk serves a request, splits chunks and coalesces them. Knows neither locks nor limits nor the
 * upstream allocator.
 *
 * <p><b>Best fit.</b> A request takes the least chunk in order of (size, address) that is large enough and that the
 * asker may use. A chunk of twice the request or more, or with {@code maxDeadUnits} to spare, is split: the request
 * gets the front, the rest stays free.
 *
 * <p><b>Owners.</b> Free memory is <em>untied</em>, or it is owned by the stream that freed it last and carries the
 * stream's sync id of that moment, its stamp. Anybody may use untied memory; the owner may use its own; another stream
 * may use it once it has waited for an event of the owner that is later than the stamp. Whoever takes memory is its
 * next owner.
 *
 * <p><b>Coalescing.</b> Free neighbours are one chunk, if they have the same owner or one of them is untied. Otherwise
 * a stream that is alone in an arena would be worse off than no stream at all: what it frees could not rejoin the
 * untouched rest of a region. The price would be that untied memory is lost to other streams; so an owned chunk
 * remembers its <em>clean ends</em>, the units at its head and its tail that the owner never used. To whoever may not
 * use the chunk, its clean ends are untied chunks like any other.
 *
 * <pre>
 *   chunks      | in use | free, owner s, stamp 7              | in use | free, untied |
 *   an owned one          | clean head | used by s | clean tail |
 * </pre>
 *
 * <p>Invariants, checked by {@link ConsistencyCheck}: the chunks of a region cover it without gaps; two free neighbours
 * have two different owners; a free chunk is entered once in its owner's index of free chunks, and each of its clean
 * ends once in its owner's index of clean ends.
 *
 * <p>Costs: finding, freeing and splitting are logarithmic in the number of free chunks. The search of a stream looks
 * at every other owner, and where it has waited for that owner at the chunks that are too fresh for it. Releasing a
 * stream is in proportion to its free chunks; attaching and detaching a region to the region's.
 */
final class Placement {
    /** No memory: no region begins there. */
    static final long NO_ADDRESS = 0;

    private static final int NONE = Chunks.NONE;

    /**
     * The most entries that one operation makes in the indexes where there are owners: three chunks with two clean
     * ends.
     */
    private static final int MAX_INSERTS = 9;

    final Chunks chunks = new Chunks();
    final Regions regions = new Regions();
    final BlockTables tables = new BlockTables();
    final SortedTrees trees = new SortedTrees();
    final StreamSlots slots = new StreamSlots(trees);

    /* Fields, as each load on the way to a chunk waits for the one before, and the first for the lock. */
    private final Slot untied = slots.untied();
    private final FreeIndex untiedFree = untied.free;

    private final long maxDeadUnits;

    /** The key of what {@link #find} found: the chunk's own, or that of one of its clean ends. */
    private long foundKey;

    /** Whether that is a clean end. */
    private boolean isEndFound;

    private long takenUnits;

    Placement(long maxDeadUnits) {
        this.maxDeadUnits = maxDeadUnits;
    }

    /** The asker for a stream, and for no stream. */
    Slot asker(@Nullable SyncStream stream) {
        if (stream == null) {
            return untied;
        }
        chunks.trackCleanEnds();
        final Slot slot = slots.findOrAdd(stream);
        slot.ensureIndexes(regions.largest());
        return slot;
    }

    // ---- what chunks are

    private Region region(int chunk) {
        return regions.get(chunks.region(chunk));
    }

    long units(Region region, int chunk) {
        final int next = chunks.next(chunk);
        return (next == NONE ? region.units : chunks.offset(next)) - chunks.offset(chunk);
    }

    long units(int chunk) {
        return units(region(chunk), chunk);
    }

    long address(int chunk) {
        return region(chunk).address(chunks.offset(chunk));
    }

    private static long key(Region region, long offset, long units) {
        return SizeOrder.key(units, region.address(offset));
    }

    // ---- taking

    /**
     * Takes memory for {@code asker}.
     *
     * @return the address, {@link #NO_ADDRESS} if the asker may use no chunk that is large enough; the size is
     *     {@link #takenUnits} then
     */
    long take(long units, long requested, Slot asker) {
        final int found = units > Chunks.MAX_REGION_UNITS ? NONE : find(units, asker);
        if (found == NONE) {
            return NO_ADDRESS;
        }
        prepare();
        final Region region = region(found);
        takenUnits = SizeOrder.units(foundKey);
        final int owner = chunks.owner(found);
        final int chunk = isEndFound ? carve(region, found, owner, units) : found;
        final long offset = chunks.offset(chunk);
        if (!isEndFound) {
            region.ensureEntry(offset + units);
            takeOut(region, chunk, owner, offset);
        }
        final long spare = takenUnits - units;
        if (spare >= units || spare >= maxDeadUnits) {
            splitOff(region, chunk, owner, offset + units, spare);
            takenUnits = units;
        }
        chunks.setInUse(chunk, asker.number, requested);
        region.chunksInUse++;
        asker.chunksInUse++;
        return region.address(offset);
    }

    /** Takes a kept chunk for {@code asker}, and answers its address. */
    long reuse(int chunk, long requested, Slot asker) {
        final Region region = region(chunk);
        final int owner = chunks.owner(chunk);
        if (owner != asker.number) {
            slots.get(owner).chunksInUse--;
            asker.chunksInUse++;
        }
        chunks.setInUse(chunk, asker.number, requested);
        takenUnits = units(region, chunk);
        return region.address(chunks.offset(chunk));
    }

    /** The size of the chunk that was taken last. */
    long takenUnits() {
        return takenUnits;
    }

    /** Makes room in the tables, so that no operation fails half way. */
    void prepare() {
        chunks.ensureSpare(3);
        tables.ensureSpare();
        trees.ensureSpare(slots.count() == 1 ? 1 : MAX_INSERTS);
    }

    /** The best fit for {@code asker}: a chunk, or one with a clean end; {@link #foundKey} tells. */
    private int find(long units, Slot asker) {
        final long least = SizeOrder.first(units);
        final int found = untiedFree.isEmpty() ? NONE : untiedFree.ceiling(least);
        foundKey = found == NONE ? SizeOrder.END : untiedFree.foundKey();
        isEndFound = false;
        return slots.count() == 1 ? found : findAmongOwned(least, asker, found);
    }

    private int findAmongOwned(long least, Slot asker, int found) {
        int best = asker == untied ? found : findUsable(least, asker.free, Long.MAX_VALUE, found);
        for (int number = 1; number < slots.count(); number++) {
            final Slot owner = slots.get(number);
            if (owner != asker && (hasBetter(owner.free, least) || hasBetter(owner.cleanEnds, least))) {
                final long waited = waited(asker, owner);
                best = findUsable(least, owner.free, waited, best);
                best = findCleanEnd(least, owner.cleanEnds, waited, best);
            }
        }
        return best;
    }

    /** Whether an index has an entry that would be better than what was found so far. */
    private boolean hasBetter(FreeIndex index, long least) {
        return index.ceiling(least) != NONE && index.foundKey() < foundKey;
    }

    /** Below which stamp {@code asker} may use the memory of another owner. */
    private static long waited(Slot asker, Slot owner) {
        if (asker.stream == null || owner.stream == null) {
            return 0;
        }
        return Math.min(asker.stream.lastWaitedSyncId(owner.stream), Chunks.MAX_STAMP);
    }

    /** The first chunk of an owner with a stamp below {@code waited}, or else {@code best}, if that is less. */
    private int findUsable(long least, FreeIndex free, long waited, int best) {
        int chunk = waited == 0 ? NONE : free.ceiling(least);
        while (chunk != NONE) {
            final long key = free.foundKey();
            if (key >= foundKey) {
                return best;
            }
            if (chunks.stamp(chunk) < waited) {
                foundKey = key;
                isEndFound = false;
                return chunk;
            }
            chunk = free.ceiling(key + 1);
        }
        return best;
    }

    /** The first clean end of a chunk with a stamp not below {@code waited}, or else {@code best}, if that is less. */
    private int findCleanEnd(long least, FreeIndex cleanEnds, long waited, int best) {
        long from = least;
        for (int chunk = cleanEnds.ceiling(from); chunk != NONE; chunk = cleanEnds.ceiling(from)) {
            final long key = cleanEnds.foundKey();
            if (key >= foundKey) {
                return best;
            }
            if (chunks.stamp(chunk) >= waited) {
                foundKey = key;
                isEndFound = true;
                return chunk;
            }
            from = key + 1;
        }
        return best;
    }

    /** Takes a chunk with {@link #foundKey} from its shelf. */
    private void takeOut(Region region, int chunk, int owner, long offset) {
        if (owner == StreamSlots.UNTIED) {
            untiedFree.remove(foundKey);
        } else {
            unshelve(region, chunk, owner, offset, takenUnits);
        }
    }

    /**
     * Cuts the clean end with {@link #foundKey} off a chunk, shelves the rest, and answers the end, to be split again.
     */
    private int carve(Region region, int chunk, int owner, long splitUnits) {
        final long offset = chunks.offset(chunk);
        final long units = units(region, chunk);
        final long stamp = chunks.stamp(chunk);
        final long head = chunks.cleanHead(chunk);
        final long tail = chunks.cleanTail(chunk);
        final boolean isHead = head > 0 && key(region, offset, head) == foundKey;
        final long cut = isHead ? offset + head : offset + units - tail;
        region.ensureEntry(cut);
        region.ensureEntry((isHead ? offset : cut) + splitUnits);
        unshelve(region, chunk, owner, offset, units);
        final int right = split(region, chunk, cut);
        final int used = isHead ? right : chunk;
        final int clean = isHead ? chunk : right;
        chunks.setOwned(used, owner, stamp, isHead ? 0 : head, isHead ? tail : 0);
        chunks.setUntied(clean);
        shelve(region, used, owner, isHead ? cut : offset, units - takenUnits);
        return clean;
    }

    /**
     * Splits a free chunk that is on no shelf at {@code offset}; what is right of it, {@code units} units, is shelved.
     */
    private void splitOff(Region region, int chunk, int foundOwner, long offset, long units) {
        final int rest = split(region, chunk, offset);
        if (foundOwner == StreamSlots.UNTIED) {
            shelve(region, rest, StreamSlots.UNTIED, offset, units);
            return;
        }
        final int owner = chunks.owner(chunk);
        if (owner != StreamSlots.UNTIED && chunks.cleanTail(chunk) < units) {
            final long head = chunks.cleanHead(chunk) + chunks.offset(chunk) - offset;
            chunks.setOwned(rest, owner, chunks.stamp(chunk), Math.max(0, head), chunks.cleanTail(chunk));
        }
        final long merged = mergeWithNext(region, rest, offset, units);
        shelve(region, rest, chunks.owner(rest), offset, merged);
    }

    /** Cuts a chunk at {@code offset}; the new chunk on the right is free and untied. */
    private int split(Region region, int chunk, long offset) {
        final int right = chunks.split(chunk, offset);
        region.enter(chunks, tables, right, offset);
        return right;
    }

    // ---- giving back

    /** Frees a chunk in use of {@code units} units. Call {@link #prepare} before. */
    void free(Region region, int chunk, long units) {
        final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
        region.frees++;
        free(region, chunk, units, stream == null ? 0 : stream.syncId());
    }

    /** Frees a chunk with the stamp of its free. Call {@link #prepare} before. */
    void free(Region region, int chunk, long units, long stamp) {
        region.chunksInUse--;
        final Slot owner = slots.get(chunks.owner(chunk));
        owner.chunksInUse--;
        if (owner.stream == null) {
            chunks.setUntied(chunk);
        } else {
            chunks.setOwned(chunk, owner.number, stamp, 0, 0);
        }
        coalesce(region, chunk, chunks.offset(chunk), units);
    }

    /** Merges a free chunk that is on no shelf with its neighbours, and shelves the result. */
    private void coalesce(Region region, int chunk, long offset, long units) {
        final long merged = mergeWithNext(region, chunk, offset, units);
        final int previous = chunks.previous(chunk);
        if (previous != NONE && chunks.isFree(previous) && haveMergeableOwners(previous, chunk)) {
            final long previousOffset = chunks.offset(previous);
            final long previousUnits = offset - previousOffset;
            unshelve(region, previous, chunks.owner(previous), previousOffset, previousUnits);
            merge(region, previous, previousUnits, chunk, offset, merged);
            shelve(region, previous, chunks.owner(previous), previousOffset, previousUnits + merged);
        } else {
            shelve(region, chunk, chunks.owner(chunk), offset, merged);
        }
    }

    /**
     * Merges a free chunk that is on no shelf with the next one, if that is free and may be merged, and answers how
     * large it is then.
     */
    private long mergeWithNext(Region region, int chunk, long offset, long units) {
        final int next = chunks.next(chunk);
        if (next == NONE || !chunks.isFree(next) || !haveMergeableOwners(chunk, next)) {
            return units;
        }
        final long nextUnits = units(region, next);
        unshelve(region, next, chunks.owner(next), offset + units, nextUnits);
        merge(region, chunk, units, next, offset + units, nextUnits);
        return units + nextUnits;
    }

    boolean haveMergeableOwners(int left, int right) {
        final int leftOwner = chunks.owner(left);
        final int rightOwner = chunks.owner(right);
        return leftOwner == rightOwner || leftOwner == StreamSlots.UNTIED || rightOwner == StreamSlots.UNTIED;
    }

    /** Makes {@code left} and its neighbour {@code right}, both free and on no shelf, one chunk. */
    private void merge(Region region, int left, long leftUnits, int right, long rightOffset, long rightUnits) {
        final int leftOwner = chunks.owner(left);
        final int rightOwner = chunks.owner(right);
        if (leftOwner != StreamSlots.UNTIED || rightOwner != StreamSlots.UNTIED) {
            final long head =
                    leftOwner == StreamSlots.UNTIED ? leftUnits + chunks.cleanHead(right) : chunks.cleanHead(left);
            final long tail =
                    rightOwner == StreamSlots.UNTIED ? rightUnits + chunks.cleanTail(left) : chunks.cleanTail(right);
            final long stamp = Math.max(chunks.stamp(left), chunks.stamp(right));
            chunks.setOwned(left, Math.max(leftOwner, rightOwner), stamp, head, tail);
        }
        region.remove(chunks, tables, right, rightOffset);
        chunks.join(left, right);
    }

    /** Ends the tie between a stream and its memory, free and in use. */
    void release(SyncStream stream) {
        final Slot slot = slots.find(stream);
        if (slot == null) {
            return;
        }
        slots.forget(slot);
        untie(slot);
    }

    /** Unties what a stream has freed; what it has in use stays its own, as it may go on working with it. */
    void endRun(SyncStream stream) {
        final Slot slot = slots.find(stream);
        if (slot != null) {
            untie(slot);
        }
    }

    private void untie(Slot slot) {
        for (int chunk = slot.free.first(); chunk != NONE; chunk = slot.free.first()) {
            prepare();
            final Region region = region(chunk);
            final long offset = chunks.offset(chunk);
            final long units = units(region, chunk);
            unshelve(region, chunk, slot.number, offset, units);
            chunks.setUntied(chunk);
            coalesce(region, chunk, offset, units);
        }
    }

    // ---- the indexes

    private void shelve(Region region, int chunk, int owner, long offset, long units) {
        final long key = key(region, offset, units);
        if (owner == StreamSlots.UNTIED) {
            untiedFree.add(key, chunk);
            return;
        }
        final Slot slot = slots.get(owner);
        slot.free.add(key, chunk);
        if (chunks.hasCleanEnds(chunk)) {
            final long head = chunks.cleanHead(chunk);
            final long tail = chunks.cleanTail(chunk);
            if (head > 0) {
                slot.cleanEnds.add(key(region, offset, head), chunk);
            }
            if (tail > 0) {
                slot.cleanEnds.add(key(region, offset + units - tail, tail), chunk);
            }
        }
    }

    private void unshelve(Region region, int chunk, int owner, long offset, long units) {
        final long key = key(region, offset, units);
        if (owner == StreamSlots.UNTIED) {
            untiedFree.remove(key);
            return;
        }
        final Slot slot = slots.get(owner);
        slot.free.remove(key);
        if (chunks.hasCleanEnds(chunk)) {
            final long head = chunks.cleanHead(chunk);
            final long tail = chunks.cleanTail(chunk);
            if (head > 0) {
                slot.cleanEnds.remove(key(region, offset, head));
            }
            if (tail > 0) {
                slot.cleanEnds.remove(key(region, offset + units - tail, tail));
            }
        }
    }

    // ---- regions

    /** Makes the next {@link #attach} of a region of up to {@code units} possible. */
    void prepareRegion(long units) {
        prepare();
        untied.ensureIndexes(units);
        regions.ensureSpare();
    }

    /** Adds a new region, wholly free. Call {@link #prepareRegion} before. */
    void attach(Region region) {
        regions.add(region);
        final int chunk = chunks.create(region.id, 0);
        region.enter(chunks, tables, chunk, 0);
        shelve(region, chunk, StreamSlots.UNTIED, 0, region.units);
    }

    /** Removes a region without chunks in use; its records are gone then. */
    void detach(Region region) {
        final int first = region.firstChunk(chunks, tables);
        for (int chunk = first; chunk != NONE; chunk = chunks.next(chunk)) {
            unshelve(region, chunk, chunks.owner(chunk), chunks.offset(chunk), units(region, chunk));
        }
        region.clear(chunks, tables);
        for (int chunk = first; chunk != NONE; ) {
            final int next = chunks.next(chunk);
            chunks.retire(chunk);
            chunk = next;
        }
        regions.remove(region);
    }

    /** The units of the largest chunk, or clean end, that {@code asker} may use. */
    long largestFor(Slot asker) {
        long largest = largestIn(untiedFree);
        for (int number = 1; number < slots.count(); number++) {
            final Slot owner = slots.get(number);
            final long waited = waited(asker, owner);
            for (int chunk = owner.free.first(); chunk != NONE; chunk = owner.free.ceiling(owner.free.foundKey() + 1)) {
                final long usable = chunks.stamp(chunk) < waited
                        ? units(chunk)
                        : Math.max(chunks.cleanHead(chunk), chunks.cleanTail(chunk));
                largest = Math.max(largest, usable);
            }
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

    // ---- looking

    /** Adds the streams that own free memory in a region. */
    void addOwners(Region region, Set<SyncStream> owners) {
        for (int chunk = region.firstChunk(chunks, tables); chunk != NONE; chunk = chunks.next(chunk)) {
            final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
            if (stream != null) {
                owners.add(stream);
            }
        }
    }

    /** The chunk that starts at {@code offset}, {@link #NONE} if none does. */
    int startingAt(Region region, long offset) {
        return region.startingAt(chunks, tables, offset);
    }

    /** The chunk in which {@code offset} lies. */
    int containing(Region region, long offset) {
        return region.containing(chunks, tables, offset);
    }

    /** A region of a lane as a value. */
    ArenaSnapshot.Region snapshot(Region region, int lane) {
        final List<ArenaSnapshot.Chunk> list = new ArrayList<>();
        for (int chunk = region.firstChunk(chunks, tables); chunk != NONE; chunk = chunks.next(chunk)) {
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
        return new ArenaSnapshot.Region(lane, region.id, region.base, region.byteSize(), list);
    }

    /** Bytes of Java heap that all tables take. */
    long bookkeepingBytes() {
        return chunks.bookkeepingBytes()
                + regions.bookkeepingBytes()
                + tables.bookkeepingBytes()
                + trees.bookkeepingBytes()
                + slots.bookkeepingBytes();
    }
}
