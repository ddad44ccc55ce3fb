package allocator.arena.bump;

import allocator.provider.support.Limit;
import allocator.spi.Allocator;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;

/**
 * Memory taken from one allocator, in the order in which it was taken, and returned from an index on: the regions of a
 * {@link ChainedArena}, or the blocks of its fallback allocator.
 *
 * <p>Not safe for use by several threads.
 */
final class RegionStack {
    final RegionSource source;

    /** Has an initial capacity, without which {@link ArrayList#ensureCapacity} may defer the allocation. */
    final ArrayList<BumpRegion> regions = new ArrayList<>(4);

    RegionStack(Allocator upstream) {
        this.source = new RegionSource(upstream, Limit.NONE);
    }

    int count() {
        return regions.size();
    }

    /** Returns the sum of the sizes of the first regions. */
    long byteSize(int first) {
        long sum = 0;
        for (int index = 0; index < first; index++) {
            sum += regions.get(index).byteSize;
        }
        return sum;
    }

    /**
     * Takes memory. Room on the Java heap is made before the allocator is called.
     *
     * @throws OutOfMemoryException if the allocator is out of memory; nothing changes, as after anything else that is
     *     thrown
     */
    BumpRegion take(long byteSize, long generation) {
        final BumpRegion region = new BumpRegion(byteSize);
        region.generation = generation;
        regions.ensureCapacity(regions.size() + 1);
        source.take(region);
        regions.add(region);
        return region;
    }

    /** Returns the regions from an index on, the last one first. One that could not be returned stays, unused. */
    void releaseFrom(int first) {
        for (int index = regions.size() - 1; index >= first; index--) {
            final BumpRegion region = regions.get(index);
            region.generation = Long.MAX_VALUE;
            if (source.giveBack(region)) {
                regions.remove(index);
            }
        }
    }
}
