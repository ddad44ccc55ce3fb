package allocator.arena.chunk;

import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The regions of a lane and the chunks in them: which chunk lies where. A chunk's record and its entry in the region's
 * index change together here.
 *
 * <p>The base of {@link FreeChunks} and {@link ChunkStore}. These are superclasses of one object and not objects of
 * their own, so that all of them reach the records through one reference: compiled code then loads an array, and checks
 * an index, once for each call and not once for each object.
 */
class ChunkMap {
    final Chunks chunks = new Chunks();
    final Regions regions = new Regions();
    final WindowTables tables = new WindowTables();

    /** Returns a region without memory, to be added later, with an id that no other region has. */
    public final Region newRegion(long granules) {
        return new Region(regions.freeId(), granules, regions.count() == 0);
    }

    /** Returns the region of a chunk. */
    final Region region(int chunk) {
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
            return Chunks.NONE;
        }
        final int chunk = region.startingAt(this, Granules.floor(offset));
        return chunk == Chunks.NONE || !chunks.isLive(chunk) ? Chunks.NONE : chunk;
    }

    /** Adds a region and returns its only chunk, which is free, unbound and in no index of free chunks. */
    final int addRegion(Region region) {
        final int chunk = chunks.create(region.id, 0);
        region.first = chunk;
        regions.add(region);
        region.enter(this, chunk, 0);
        return chunk;
    }

    /** Removes a region and the records of its chunks. */
    final void removeRegion(Region region) {
        regions.remove(region);
        region.clear(this);
        for (int chunk = region.first; chunk != Chunks.NONE; ) {
            final int next = chunks.next(chunk);
            chunks.retire(chunk);
            chunk = next;
        }
    }

    /** Lists the chunks of a region by address, each as what {@code factory} makes of it. */
    final <T> List<T> list(Region region, StreamSlots slots, Placement.ChunkFactory<T> factory) {
        final List<T> list = new ArrayList<>();
        for (int chunk = region.first; chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
            final boolean isFree = chunks.isFree(chunk);
            final boolean hasStamp = isFree && stream != null;
            list.add(factory.create(
                    address(region, chunk),
                    Granules.toBytes(granules(region, chunk)),
                    isFree,
                    isFree ? 0 : chunks.requested(chunk),
                    stream == null ? 0 : stream.id(),
                    hasStamp ? chunks.stamp(chunk) : 0,
                    hasStamp ? Granules.toBytes(chunks.untouchedHead(chunk)) : 0,
                    hasStamp ? Granules.toBytes(chunks.untouchedTail(chunk)) : 0));
        }
        return list;
    }
}
