package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The chunks of a lane under a placement policy, which decides which free memory serves a request.
 *
 * <p>A policy is a subclass. It implements the methods that take and free memory; regions and queries are the same for
 * all. {@link BestFit} is the base of every policy: another one wraps it and may <em>cache</em> freed chunks in front
 * of it. A cached chunk is in use to best fit, but not live to the caller.
 *
 * <p>Sealed and a class, so that a call is inlined: with one policy loaded it has one target, with both two.
 *
 * <p>Not safe for use by several threads.
 */
public abstract sealed class Placement permits BestFit, QuickFit {
    /** No memory: no region begins at this address. */
    public static final long NO_ADDRESS = 0;

    final ChunkStore store;
    final StreamSearch streamSearch;

    /** The slot of memory that is bound to no stream. */
    final Slot unbound;

    /** Creates a placement that owns its chunks. */
    Placement() {
        store = new ChunkStore();
        streamSearch = new StreamSearch(store);
        unbound = store.slots.unbound();
    }

    /** Creates a placement over the chunks of another one. */
    Placement(Placement base) {
        store = base.store;
        streamSearch = base.streamSearch;
        unbound = base.unbound;
    }

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

    /** Merges what is cached, so that every chunk is live or free. */
    public abstract void mergeCached();

    /** Returns the number of cached chunks, counted one by one. */
    abstract int cachedChunks();

    /** Returns the size of all cached chunks in granules. */
    abstract long cachedGranules();

    /** Returns the bytes of Java heap that all tables take. */
    public long bookkeepingBytes() {
        return store.bookkeepingBytes();
    }

    /** Returns the regions. */
    public final Regions regions() {
        return store.regions;
    }

    /** Returns the number of chunks. */
    public final int chunkCount() {
        return store.chunks.count();
    }

    /** Returns the live chunk of a region that starts at {@code address}, {@link Region#NO_CHUNK} if none does. */
    public final int liveChunk(Region region, long address) {
        return store.liveChunk(region, address);
    }

    /** Returns the size of a chunk of a region in granules. */
    public final long granules(Region region, int chunk) {
        return store.granules(region, chunk);
    }

    /** Returns the address of a chunk of a region. */
    public final long address(Region region, int chunk) {
        return store.address(region, chunk);
    }

    /** Returns the bytes that the caller of a live chunk requested. */
    public final long requested(int chunk) {
        return store.chunks.requested(chunk);
    }

    /** Returns whether a chunk is live: neither free nor cached. */
    public final boolean isLive(int chunk) {
        return store.chunks.isLive(chunk);
    }

    /** Returns the chunk that contains an address of a region. May take long: for messages. */
    public final int chunkContaining(Region region, long address) {
        return region.containing(store, Granules.floor(address - region.base));
    }

    /** Makes room for one {@link #attach} of a region of up to {@code granules} granules. */
    public final void prepareRegion(long granules) {
        store.prepareRegion(granules);
    }

    /** Returns a region, to be attached later, with an id that no other region has. */
    public final Region newRegion(long base, long granules) {
        return store.newRegion(base, granules);
    }

    /** Adds a region, wholly free. Call {@link #prepareRegion} before. */
    public final void attach(Region region) {
        store.attach(region);
    }

    /** Removes a region without chunks in use. */
    public final void detach(Region region) {
        store.detach(region);
    }

    /** Adds the streams that own memory in a region to {@code owners}. */
    public final void addOwners(Region region, Set<SyncStream> owners) {
        for (int chunk = region.firstChunk(store); chunk != Chunks.NONE; chunk = store.chunks.next(chunk)) {
            final SyncStream stream = store.slots.get(store.chunks.owner(chunk)).stream;
            if (stream != null) {
                owners.add(stream);
            }
        }
    }

    /** Lists the chunks of a region by address, each as what {@code factory} makes of it. Call when none is cached. */
    public final <T> List<T> list(Region region, ChunkFactory<T> factory) {
        return store.list(region, store.slots, factory);
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
        store.chunks.trackUntouchedEnds();
        final Slot slot = store.slots.findOrAdd(requester);
        slot.ensureIndexes(store.regions.largest());
        return slot;
    }
}
