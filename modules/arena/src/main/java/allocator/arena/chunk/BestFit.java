package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.SyncStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The chunks of a lane under a placement policy, which decides which free memory serves a request: best fit with
 * coalescing, as in ONNX Runtime.
 *
 * <p><b>Best fit.</b> A request takes the least chunk in order of (size, address) that is large enough and that the
 * requester may use. A chunk of twice the request or more, or with {@code maxDeadGranules} to spare, is split: the
 * request gets the front, the rest stays free.
 *
 * <p><b>Owners.</b> Free memory is <em>unbound</em>, or it is owned by the stream that freed it last and carries the
 * stream's sync id of that moment, its <em>stamp</em>. Any requester may use unbound memory; {@link StreamSearch} says
 * who may use owned memory. The requester that takes memory is its next owner.
 *
 * <p><b>Coalescing.</b> Freed memory merges with its free neighbours at once; see {@link ChunkStore}.
 *
 * <p><b>Other policies</b> are subclasses, which override the methods that take and free memory. {@link Slabs} are
 * chunks in use that are not blocks of a caller. Policy and chunks are one object, for the reason that
 * {@link ChunkStore} gives. There are few subclasses, so that a call is inlined: with one policy loaded it has one
 * target, with two of them two. It is not sealed, as the subclass for pages is in their package, which a class path
 * does not allow.
 *
 * <p>Invariants, checked by {@link ConsistencyCheck}: the chunks of a region cover it without gaps; two free neighbours
 * have two different owners; a free chunk has one entry in its owner's index of free chunks, and its untouched head and
 * tail, where not empty, have one each in its owner's index of untouched ends.
 *
 * <p>Costs: finding, freeing and splitting are logarithmic in the number of free chunks; {@link StreamSearch} states
 * what streams add. Releasing a stream is proportional to its free chunks; attaching and detaching a region to the
 * region's.
 *
 * <p>Not safe for use by several threads.
 */
public class BestFit extends ChunkStore {
    private static final int NONE = Chunks.NONE;

    /** No memory: no region begins at this address. */
    public static final long NO_ADDRESS = 0;

    /** A {@link #step}: nothing has been begun. */
    public static final int WHOLE = -1;

    /** A {@link #step}: an operation has been begun, and the indexes may not agree with the chunks. */
    public static final int BEGUN = -2;

    /** A {@link #step}: a chunk has been freed, and the indexes may not agree with the chunks. */
    public static final int FREED = -3;

    /** A {@link #step}: the placement is closed. */
    public static final int CLOSED = -4;

    /**
     * How far the operation under the lane's lock has come: one of the constants, or the chunk that is being made live,
     * which {@link #repair} frees again, as the caller does not learn its address. The lane sets it to {@link #WHOLE}
     * when its work under the lock is complete, and repairs before the next if it is neither that nor {@link #CLOSED}.
     * A field, as a call may fail where the stack ends.
     */
    public int step = WHOLE;

    final StreamSearch streamSearch = new StreamSearch(this);

    /** The slot of memory that is bound to no stream. */
    final Slot unbound = slots.unbound();

    private final long maxDeadGranules;

    /** The key of what {@link #find} found: the chunk's own, or that of its untouched head or tail. */
    protected long foundKey;

    /** Whether {@link #find} found an untouched head or tail. */
    protected boolean isEndFound;

    long takenGranules;

    /** What {@link #findLive} has found: the handle of a chunk or unit, its size, and the bytes requested. */
    int live;

    long liveGranules;
    long liveRequested;

    /**
     * Creates a placement without regions.
     *
     * @param maxDeadGranules the excess at which a chunk is split whatever the request
     */
    public BestFit(long maxDeadGranules) {
        this.maxDeadGranules = maxDeadGranules;
    }

    /**
     * Creates a placement for regions that are only addresses, much larger than what lives in them: a chunk is split
     * whatever its excess, and a lane that is hardly used takes little Java heap.
     */
    protected BestFit() {
        this(1);
        slots.fewEntries = StreamSlots.FEW_ENTRIES;
    }

    /**
     * Takes memory.
     *
     * @param granules granules needed, at least 1
     * @param requested bytes that the caller requested, to be remembered
     * @param requester the stream that requests it, {@code null} for none
     * @return the address, {@link #NO_ADDRESS} if there is no chunk that is large enough and that the requester may use
     */
    public long take(long granules, long requested, @Nullable SyncStream requester) {
        return takeBestFit(granules, requested, slot(requester));
    }

    /** Takes the best fit for the owner of a slot. */
    final long takeBestFit(long granules, long requested, Slot requester) {
        final int found = granules > Chunks.MAX_REGION_GRANULES ? NONE : find(SizeOrder.first(granules), requester);
        return found == NONE ? NO_ADDRESS : takeFound(found, granules, requested, requester);
    }

    /** Takes what {@link #find} has found, or the front of it. */
    protected final long takeFound(int found, long granules, long requested, Slot requester) {
        return takeFound(found, granules, requested, requester, maxDeadGranules);
    }

    private long takeFound(int found, long granules, long requested, Slot requester, long least) {
        ensureSpare();
        step = found;
        final Region region = region(found);
        takenGranules = SizeOrder.granules(foundKey);
        final int owner = chunks.owner(found);
        final int chunk = isEndFound ? carve(region, found, owner, foundKey, takenGranules, granules) : found;
        final long offset = chunks.offset(chunk);
        final long spare = takenGranules - granules;
        final boolean isSplit = spare >= granules || spare >= least;
        if (isEndFound) {
            step = chunk;
        } else {
            if (isSplit) {
                region.ensureEntry(offset + granules);
            }
            if (owner != StreamSlots.UNBOUND) {
                removeFree(region, chunk, owner, offset, takenGranules);
            } else if (!isSplit) {
                unboundFree.remove(foundKey);
            }
        }
        if (isSplit) {
            takeFront(region, chunk, owner, foundKey, offset + granules, spare, requester.number, requested);
            takenGranules = granules;
        } else {
            chunks.setInUse(chunk, requester.number, requested);
        }
        region.chunksInUse++;
        requester.chunksInUse++;
        return region.address(offset);
    }

    /** Takes so much of what {@link #find} has found, wherever in it, from an address on. */
    protected final long takeAt(long address, int found, long granules, long requested, Slot slot) {
        final Region region = region(found);
        final long offset = Granules.floor(address - region.base);
        final long start = foundAddress(found);
        if (address == start) {
            return takeFound(found, granules, requested, slot, 1);
        }
        ensureSpare();
        region.ensureEntry(offset);
        step = BEGUN; // until the chunk that is taken is known
        final long first = Granules.floor(start - region.base);
        final long whole = SizeOrder.granules(foundKey);
        final int owner = chunks.owner(found);
        int left = found;
        if (isEndFound) {
            left = carve(region, found, owner, foundKey, whole, offset - first);
        } else {
            removeFree(region, found, owner, first, whole);
        }
        final int right = split(left, offset, offset - first, whole - (offset - first));
        region.enter(this, right, offset);
        // Without an owner, it belongs to the next chunk, which another stream may own.
        final long merged = mergeWithNext(region, right, offset, whole - (offset - first));
        insertFree(region, right, chunks.owner(right), offset, merged);
        foundKey = key(region, offset, merged);
        isEndFound = false;
        final long taken = takeFound(right, granules, requested, slot, 1);
        ensureSpare();
        coalesce(region, left, first, offset - first); // after that, so that it is not merged with what was taken
        return taken;
    }

    /**
     * Finds the best fit: a chunk, or a chunk with an untouched head or tail; {@link #isEndFound} says which.
     *
     * @param least the least key that fits
     */
    protected final int find(long least, Slot requester) {
        final int found = unboundFree.isEmpty() ? NONE : unboundFree.ceiling(least);
        foundKey = found == NONE ? SizeOrder.END : unboundFree.foundKey();
        isEndFound = false;
        return slots.count() == 1 ? found : findAmongOwned(least, requester, found);
    }

    private int findAmongOwned(long least, Slot requester, int unboundFit) {
        final int found = streamSearch.find(least, requester, unboundFit, foundKey);
        foundKey = streamSearch.foundKey;
        isEndFound = streamSearch.isEndFound;
        return found;
    }

    /** Returns the first address of what {@link #find} has found. */
    protected final long foundAddress(int found) {
        final Region region = region(found);
        final long offset = chunks.offset(found);
        if (!isEndFound || isHeadFound(region, found, offset)) {
            return region.address(offset);
        }
        return region.address(offset + granules(region, found) - chunks.untouchedTail(found));
    }

    private boolean isHeadFound(Region region, int found, long offset) {
        final long head = chunks.untouchedHead(found);
        return head > 0 && key(region, offset, head) == foundKey;
    }

    /** Returns the size in granules of what was taken last. */
    public final long takenGranules() {
        return takenGranules;
    }

    /**
     * Finds the live block that starts at an address, and returns whether there is one. Then {@link #liveGranules},
     * {@link #liveRequested} and {@link #freeLive} are of that block.
     *
     * @param region the region that contains the address
     */
    public boolean findLive(Region region, long address) {
        live = liveChunk(region, address);
        if (live == NONE) {
            return false;
        }
        liveGranules = granules(region, live);
        liveRequested = chunks.requested(live);
        return true;
    }

    /** Returns the size in granules of the live block found last. */
    public final long liveGranules() {
        return liveGranules;
    }

    /** Returns the bytes that the caller of the live block found last requested. */
    public final long liveRequested() {
        return liveRequested;
    }

    /** Frees the live block found last, which is in that region. */
    public void freeLive(Region region) {
        prepareFree();
        free(region, live, liveGranules);
    }

    /** Makes room for one {@link #free}, so that it cannot fail half way. */
    public final void prepareFree() {
        ensureSpare();
    }

    /**
     * Frees a live chunk. Call {@link #prepareFree} before.
     *
     * @param region its region
     * @param chunk the chunk
     * @param granules its size
     */
    public void free(Region region, int chunk, long granules) {
        final Slot owner = slots.get(chunks.owner(chunk));
        final SyncStream stream = owner.stream;
        if (stream == null) {
            chunks.setUnbound(chunk);
        } else {
            chunks.setOwned(chunk, owner.number, stream.syncId());
        }
        step = FREED;
        region.frees++;
        region.chunksInUse--;
        owner.chunksInUse--;
        coalesce(region, chunk, chunks.offset(chunk), granules);
    }

    /**
     * Unbinds what a stream has freed. What it has in use stays bound, as the stream may go on using it.
     *
     * @param stream the stream; nothing happens if it has no memory here
     */
    public void endRun(SyncStream stream) {
        final Slot slot = slots.find(stream);
        if (slot != null) {
            step = BEGUN;
            unbindFree(slot);
        }
    }

    /**
     * Unbinds all memory of a stream, free and in use.
     *
     * @param stream the stream; nothing happens if it has no memory here
     */
    public void releaseStream(SyncStream stream) {
        final Slot slot = slots.find(stream);
        if (slot != null) {
            step = BEGUN;
            slots.forget(slot);
            unbindFree(slot);
        }
    }

    /**
     * Unbinds the memory of streams that have ended, which no stream is known to have waited for. Takes time
     * proportional to the number of streams with memory here: call it before a region is added.
     */
    public final void unbindEnded() {
        for (int number = 1; number < slots.count(); number++) {
            final SyncStream stream = slots.get(number).stream;
            if (stream != null && stream.hasEnded()) {
                releaseStream(stream);
            }
        }
    }

    /**
     * Gives back Java heap that the tables no longer need, in time proportional to the number of streams, and to that
     * of chunks if there is something to give back.
     */
    public final void compact() {
        dissolve();
        Compaction.of(this);
    }

    /** Makes the units of slabs that have free ones chunks, and returns whether there was any. */
    public boolean dissolve() {
        return false;
    }

    /**
     * Rebuilds all that follows from the chunks after an operation failed half way. A chunk that was being taken is
     * free again, and everything else is as the chunks' records say. Takes time proportional to the number of chunks.
     * If it fails itself, it can be repeated. Returns what is live now.
     */
    public final Repair.Live repair() {
        return Repair.of(this);
    }

    /** Returns the regions. */
    public final Regions regions() {
        return regions;
    }

    /** Returns the number of chunks. */
    public final int chunkCount() {
        return chunks.count();
    }

    /** Returns the chunk after one by address, {@link Region#NO_CHUNK} at the end of its region. */
    public final int next(int chunk) {
        return chunks.next(chunk);
    }

    /** Receives parts of a region: what is live, cached or free. */
    @FunctionalInterface
    public interface Parts {
        /**
         * Receives a part.
         *
         * @param address where it starts
         * @param byteSize its size
         * @param requested bytes that the caller requested; 0 if it is not live
         * @param state what it is used for: it is live, waits for its stream, is cached, or free
         * @param streamId the id of the stream that owns it, 0 if none does
         */
        void add(long address, long byteSize, long requested, State state, long streamId);
    }

    /** Lists the parts of a region by address. Calls no stream. */
    public final void list(Region region, Parts parts) {
        for (int chunk = region.first; chunk != NONE; chunk = chunks.next(chunk)) {
            final long streamId = streamId(chunk);
            if (chunks.isSlab(chunk)) {
                final int slab = chunks.slab(chunk);
                final int granules = slabs.unitGranules(slab);
                for (int place = 0; place < Slabs.unitsOf(granules); place++) {
                    final int unit = Slabs.unit(slab, place);
                    final boolean isLive = slabs.isLive(unit);
                    parts.add(
                            slabs.address(unit),
                            Granules.toBytes(granules),
                            isLive ? slabs.requested(unit) : 0,
                            isLive ? State.LIVE : State.CACHED,
                            streamId);
                }
            } else {
                final boolean isLive = chunks.isLive(chunk);
                parts.add(
                        address(region, chunk),
                        Granules.toBytes(granules(region, chunk)),
                        isLive ? chunks.requested(chunk) : 0,
                        isLive ? State.LIVE : streamId == 0 ? State.FREE : State.WAITING,
                        streamId);
            }
        }
    }

    /** Returns whether a chunk is live. */
    public final boolean isLive(int chunk) {
        return chunks.isLive(chunk);
    }

    /** Returns the id of the stream that owns a chunk, 0 if no stream does. Calls no stream. */
    public final long streamId(int chunk) {
        return slots.get(chunks.owner(chunk)).streamId();
    }

    /** Returns the stream that owns a chunk, {@code null} if no stream does. */
    protected final @Nullable SyncStream stream(int chunk) {
        return slots.get(chunks.owner(chunk)).stream;
    }

    /** Returns the stamp of a free chunk that a stream owns: the stream's sync id when it was freed. */
    protected final long stamp(int chunk) {
        return chunks.stamp(chunk);
    }

    /** Adds the streams that own memory in a region to {@code owners}, by id: their own methods may do anything. */
    public final void addOwners(Region region, Map<Long, SyncStream> owners) {
        for (int chunk = region.first; chunk != NONE; chunk = chunks.next(chunk)) {
            final SyncStream stream = stream(chunk);
            if (stream != null) {
                owners.put(stream.id(), stream);
            }
        }
    }

    /** Returns the granules of the largest free chunk of any owner. */
    public final long largest() {
        return streamSearch.largest();
    }

    /** Returns the granules of the largest free memory that a stream, or {@code null} for none, may use. */
    public final long largestFor(@Nullable SyncStream requester) {
        return streamSearch.largestFor(slot(requester));
    }

    /** Returns the slot of a requester in regions that are only addresses, with late classes of unbound memory. */
    protected final Slot slotForAddresses(@Nullable SyncStream requester) {
        ensureClasses(unbound);
        return slot(requester);
    }

    /** Returns the slot of a requester; makes one for a stream that has none. */
    final Slot slot(@Nullable SyncStream requester) {
        if (requester == null) {
            return unbound;
        }
        chunks.trackUntouchedEnds();
        Slot slot = slots.find(requester);
        if (slot == null) {
            final int before = step;
            step = BEGUN;
            slot = slots.add(requester, regions.largest());
            step = before;
        }
        slots.setLatest(slot);
        ensureClasses(slot);
        return slot;
    }

    /** Makes the classes that a slot needs for the largest region. */
    final void ensureClasses(Slot slot) {
        if (slot.needsClasses(regions.largest(), slots.fewEntries)) {
            final int before = step;
            step = BEGUN;
            slot.ensureClasses(regions.largest());
            step = before;
        }
    }
}
