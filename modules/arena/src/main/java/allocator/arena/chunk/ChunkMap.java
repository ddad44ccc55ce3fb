package allocator.arena.chunk;

import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The regions of a lane and the chunks in them: which chunk lies where. A chunk's record and its entry in the region's
 * index change together here; which chunks are free is in {@link FreeChunks}.
 */
final class ChunkMap {
    final Chunks chunks = new Chunks();
    final Regions regions = new Regions();
    final WindowTables tables = new WindowTables();

    /** Returns a region, to be added later, with an id that no other region has. */
    Region newRegion(long base, long granules) {
        return new Region(this, regions.freeId(), base, granules, regions.count() == 0);
    }

    /** Returns the region of a chunk. */
    Region region(int chunk) {
        return regions.get(chunks.region(chunk));
    }

    /** Returns the size of a chunk in granules. */
    long granules(int chunk) {
        return region(chunk).granules(chunk);
    }

    /** Adds a region and returns its only chunk, which is free, unbound and in no index of free chunks. */
    int add(Region region) {
        regions.add(region);
        final int chunk = chunks.create(region.id, 0);
        region.enter(chunk, 0);
        return chunk;
    }

    /** Removes a region and the records of its chunks. */
    void remove(Region region) {
        final int first = region.firstChunk();
        region.clear();
        for (int chunk = first; chunk != Chunks.NONE; ) {
            final int next = chunks.next(chunk);
            chunks.retire(chunk);
            chunk = next;
        }
        regions.remove(region);
    }

    /** Cuts a chunk in two at {@code offset} and returns the new chunk on the right, which is free and unbound. */
    int split(Region region, int chunk, long offset) {
        final int right = chunks.split(chunk, offset);
        region.enter(right, offset);
        return right;
    }

    /** Joins {@code left} and its neighbour {@code right}, which starts at {@code rightOffset}, as {@code left}. */
    void join(Region region, int left, int right, long rightOffset) {
        region.remove(right, rightOffset);
        chunks.join(left, right);
    }

    /** Lists the chunks of a region by address, each as what {@code factory} makes of it. */
    <T> List<T> list(Region region, StreamSlots slots, ChunkFactory<T> factory) {
        final List<T> list = new ArrayList<>();
        for (int chunk = region.firstChunk(); chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
            final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
            final boolean isFree = chunks.isFree(chunk);
            final boolean hasStamp = isFree && stream != null;
            list.add(factory.create(
                    region.address(chunk),
                    Granules.toBytes(region.granules(chunk)),
                    isFree,
                    isFree ? 0 : chunks.requested(chunk),
                    stream == null ? 0 : stream.id(),
                    hasStamp ? chunks.stamp(chunk) : 0,
                    hasStamp ? Granules.toBytes(chunks.untouchedHead(chunk)) : 0,
                    hasStamp ? Granules.toBytes(chunks.untouchedTail(chunk)) : 0));
        }
        return list;
    }

    /** Returns the bytes of Java heap that records, regions and tables take. */
    long bookkeepingBytes() {
        return chunks.bookkeepingBytes() + regions.bookkeepingBytes() + tables.bookkeepingBytes();
    }
}
