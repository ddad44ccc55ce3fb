package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The chunks of a lane under a placement policy, which decides which free memory serves a request.
 *
 * <p>A policy is a subclass. It implements the methods that take and free memory; regions and queries are the same for
 * all. {@link BestFit} is the base of every policy: another one extends it and may <em>cache</em> freed chunks in front
 * of it. A cached chunk is in use to best fit, but not live to the caller.
 *
 * <p>Policy and chunks are one object, for the reason that {@link ChunkMap} gives. The class is sealed, so that a call
 * is inlined: with one policy loaded it has one target, with both two.
 *
 * <p>Not safe for use by several threads.
 */
public abstract sealed class Placement extends ChunkStore permits BestFit {
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

    /**
     * Creates a value that describes a chunk.
     *
     * @param <T> the type of the value
     */
    @FunctionalInterface
    public interface ChunkFactory<T> {
        /**
         * Creates the value for a chunk.
         *
         * @param address address of the first byte
         * @param byteSize size in bytes, padding included
         * @param isFree whether it is free
         * @param requestedBytes bytes that the caller requested; {@code 0} if it is free
         * @param streamId id of the stream that owns it, {@code 0} if no stream does
         * @param stamp the owner's sync id when it was freed; {@code 0} if it is in use or has no owner
         * @param untouchedHeadBytes bytes at the start of a free chunk that its owner never used
         * @param untouchedTailBytes bytes at the end of a free chunk that its owner never used
         * @return the value
         */
        T create(
                long address,
                long byteSize,
                boolean isFree,
                long requestedBytes,
                long streamId,
                long stamp,
                long untouchedHeadBytes,
                long untouchedTailBytes);
    }

    /** Receives the chunks of a region, as they are. */
    @FunctionalInterface
    public interface ChunkVisitor {
        /**
         * Receives a chunk. Called under the lane's lock: it allocates nothing and calls nothing that may wait.
         *
         * @param address address of the first byte
         * @param byteSize size in bytes, padding included
         * @param requestedBytes bytes that the caller requested if it is live, otherwise {@code 0}
         * @param state live, waiting for its stream, cached, or free
         * @param streamId id of the stream that owns it, {@code 0} if no stream does
         */
        void visit(long address, long byteSize, long requestedBytes, State state, long streamId);
    }

    final StreamSearch streamSearch = new StreamSearch(this);

    /** The slot of memory that is bound to no stream. */
    final Slot unbound = slots.unbound();

    /**
     * Takes memory.
     *
     * @param granules granules needed, at least 1
     * @param requested bytes that the caller requested, to be remembered
     * @param requester the stream that requests it, {@code null} for none
     * @return the address, {@link #NO_ADDRESS} if there is no chunk that is large enough and that the requester may use
     */
    public abstract long take(long granules, long requested, @Nullable SyncStream requester);

    /** Returns the size in granules of the chunk taken last. */
    public abstract long takenGranules();

    /** Makes room for one {@link #free}, so that it cannot fail half way. */
    public abstract void prepareFree();

    /**
     * Frees a live chunk. Call {@link #prepareFree} before.
     *
     * @param region its region
     * @param chunk the chunk
     * @param granules its size
     */
    public abstract void free(Region region, int chunk, long granules);

    /**
     * Unbinds what a stream has freed. What it has in use stays bound, as the stream may go on using it.
     *
     * @param stream the stream; nothing happens if it has no memory here
     */
    public abstract void endRun(SyncStream stream);

    /**
     * Unbinds all memory of a stream, free and in use.
     *
     * @param stream the stream; nothing happens if it has no memory here
     */
    public abstract void releaseStream(SyncStream stream);

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
     * Gives back Java heap that the tables no longer need, by a thread that has touched its stack. Takes time
     * proportional to the number of streams, and to that of chunks if there is something to give back.
     */
    public final void compact() {
        mergeCached();
        Compaction.of(this);
    }

    /** Merges what is cached, so that every chunk is live or free. */
    public abstract void mergeCached();

    /** Forgets which chunks are cached. */
    abstract void clearCache();

    /** Enters a chunk that its record says is cached. */
    abstract void recache(int chunk, long granules);

    /** Returns the number of cached chunks, counted one by one. */
    abstract int cachedChunks();

    /** Returns the size of all cached chunks in granules. */
    abstract long cachedGranules();

    /**
     * Rebuilds all that follows from the chunks after an operation failed half way. A chunk that was being taken is
     * free again, and everything else is as the chunks' records say. Takes time proportional to the number of chunks.
     * If it fails itself, it can be repeated.
     *
     * @return what is live now
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

    /** Returns the bytes that the caller of a live chunk requested. */
    public final long requested(int chunk) {
        return chunks.requested(chunk);
    }

    /** Returns whether a chunk is live: neither free nor cached. */
    public final boolean isLive(int chunk) {
        return chunks.isLive(chunk);
    }

    /** Returns the chunk that contains an address of a region. May take long: for messages. */
    public final int chunkContaining(Region region, long address) {
        return region.containing(this, Granules.floor(address - region.base));
    }

    /**
     * Adds the streams that own memory in a region to {@code owners}, by id: a stream's own methods may do anything.
     */
    public final void addOwners(Region region, Map<Long, SyncStream> owners) {
        for (int chunk = region.first; chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
            if (stream != null) {
                owners.put(stream.id(), stream);
            }
        }
    }

    /** Lists the chunks of a region by address, each as what {@code factory} makes of it. Call when none is cached. */
    public final <T> List<T> list(Region region, ChunkFactory<T> factory) {
        return list(region, slots, factory);
    }

    /** Visits the chunks of a region by address, and changes nothing: what is cached stays cached. */
    public final void visit(Region region, ChunkVisitor visitor) {
        for (int chunk = region.first; chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            final long streamId = slots.get(chunks.owner(chunk)).streamId();
            final boolean isLive = chunks.isLive(chunk);
            visitor.visit(
                    address(region, chunk),
                    Granules.toBytes(granules(region, chunk)),
                    isLive ? chunks.requested(chunk) : 0,
                    isLive
                            ? State.LIVE
                            : chunks.isCached(chunk) ? State.CACHED : streamId == 0 ? State.FREE : State.WAITING,
                    streamId);
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
