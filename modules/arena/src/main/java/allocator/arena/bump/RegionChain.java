package allocator.arena.bump;

import allocator.provider.support.Failures;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;

/**
 * The regions of one {@link ChainedArena}, in the order in which they were taken.
 *
 * <p>Not safe for use by several threads.
 */
final class RegionChain {
    private final UpstreamMemory memory;

    /** Has an initial capacity, without which {@link ArrayList#ensureCapacity} may defer the allocation. */
    private final ArrayList<SequentialRegion> regions = new ArrayList<>(4);

    private long byteSize;

    RegionChain(UpstreamMemory memory) {
        this.memory = memory;
    }

    int count() {
        return regions.size();
    }

    SequentialRegion get(int index) {
        return regions.get(index);
    }

    /** Returns the sum of the regions' sizes. */
    long byteSize() {
        return byteSize;
    }

    /**
     * Takes the memory of a new region. All objects that the chain needs are allocated before.
     *
     * @throws OutOfMemoryException if the upstream allocator is out of memory; the chain is unchanged, as after
     *     anything else that is thrown
     */
    void add(SequentialRegion region) {
        regions.ensureCapacity(regions.size() + 1);
        region.placeAt(memory.take(region.byteSize));
        regions.add(region);
        byteSize += region.byteSize;
    }

    /** Makes room to release the regions from an index on; see {@link UpstreamMemory#prepareReturns}. */
    void prepareReleaseFrom(int first) {
        memory.prepareReturns(Math.max(regions.size() - first, 0));
    }

    /**
     * Releases the last regions down to an index and adds whatever the upstream allocator throws to {@code failures}.
     */
    void releaseFrom(int first, Failures failures) {
        while (regions.size() > first) {
            final SequentialRegion region = regions.removeLast();
            byteSize -= region.byteSize;
            failures.add(memory.giveBack(region.base(), region.byteSize));
        }
        memory.endReturns();
    }

    /** Returns the first index, from {@code from} on, of a region that fits a request; {@link #count} if none does. */
    int firstWithRoom(int from, long wantedSize, long byteAlignment) {
        int index = from;
        while (index < regions.size() && regions.get(index).room(byteAlignment) < wantedSize) {
            index++;
        }
        return index;
    }
}
