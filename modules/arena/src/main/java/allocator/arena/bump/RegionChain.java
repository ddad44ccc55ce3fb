package allocator.arena.bump;

import allocator.provider.support.Failures;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The regions of one bump arena, in the order in which they were taken or in unsigned order of address.
 *
 * <p>Not safe for use by several threads.
 *
 * @param <R> what the arena records of a region
 */
final class RegionChain<R extends BumpRegion> {
    private final UpstreamMemory memory;
    private final boolean isSorted;

    /** Has an initial capacity, without which {@link ArrayList#ensureCapacity} may defer the allocation. */
    private final ArrayList<R> regions = new ArrayList<>(4);

    private long byteSize;

    private RegionChain(UpstreamMemory memory, boolean isSorted) {
        this.memory = memory;
        this.isSorted = isSorted;
    }

    static <R extends BumpRegion> RegionChain<R> inOrderOfGrowth(UpstreamMemory memory) {
        return new RegionChain<>(memory, false);
    }

    static <R extends BumpRegion> RegionChain<R> inOrderOfAddress(UpstreamMemory memory) {
        return new RegionChain<>(memory, true);
    }

    int count() {
        return regions.size();
    }

    R get(int index) {
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
    void add(R region) {
        regions.ensureCapacity(regions.size() + 1);
        region.placeAt(memory.take(region.byteSize));
        regions.add(isSorted ? -search(region.base()) - 1 : regions.size(), region);
        byteSize += region.byteSize;
    }

    /**
     * Removes a region and gives its memory back, after {@link UpstreamMemory#prepareReturns}. Returns whatever the
     * upstream allocator threw.
     */
    @Nullable
    Throwable release(int index) {
        final R region = regions.remove(index);
        byteSize -= region.byteSize;
        return memory.giveBack(region.base(), region.byteSize);
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
            failures.add(release(regions.size() - 1));
        }
    }

    /** Returns the first index, from {@code from} on, of a region that fits a request; {@link #count} if none does. */
    int firstWithRoom(int from, long wantedSize, long byteAlignment) {
        int index = from;
        while (index < regions.size() && regions.get(index).room(byteAlignment) < wantedSize) {
            index++;
        }
        return index;
    }

    /**
     * Returns the index of the region that contains an address, by binary search in a chain in order of address;
     * {@code -(insertion point) - 1} if no region does.
     */
    int search(long address) {
        int low = 0;
        int high = regions.size() - 1;
        while (low <= high) {
            final int middle = (low + high) >>> 1;
            final R region = regions.get(middle);
            if (region.contains(address)) {
                return middle;
            }
            if (Long.compareUnsigned(region.base(), address) < 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return -low - 1;
    }
}
