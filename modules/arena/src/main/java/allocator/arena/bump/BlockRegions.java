package allocator.arena.bump;

import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * All regions of a {@link BumpAllocator}, found by address. Takes their memory and gives it back.
 *
 * <p>Not safe for use by several threads.
 */
final class BlockRegions {
    private final UpstreamMemory memory;
    private final BumpConfig config;
    private final RegionTree byAddress = new RegionTree();

    /** Bytes of the regions that the configuration limits: those that are not for one request. */
    private long chainedBytes;

    private long numReleased;

    BlockRegions(UpstreamMemory memory, BumpConfig config) {
        this.memory = memory;
        this.config = config;
    }

    /** Returns a number whose signed order is the unsigned order of addresses. */
    private static long key(long address) {
        return address ^ Long.MIN_VALUE;
    }

    /** Returns the region that contains an address; {@code null} if none does. */
    @Nullable
    BlockRegion find(long address) {
        final BlockRegion region = byAddress.last(key(address));
        return region != null && region.contains(address) ? region : null;
    }

    int count() {
        return byAddress.count();
    }

    /** Returns the region of the highest address; {@code null} if there is none. */
    @Nullable
    BlockRegion last() {
        return byAddress.last(Long.MAX_VALUE);
    }

    /** Returns how many regions have live blocks. Visits each. */
    int countInUse() {
        int inUse = 0;
        for (BlockRegion region = byAddress.first(Long.MIN_VALUE);
                region != null;
                region = byAddress.next(region.byAddress)) {
            inUse += region.isEmpty() ? 0 : 1;
        }
        return inUse;
    }

    /** Returns the bytes of the regions that have live blocks, or of those that have none. Visits each. */
    long bytes(boolean areInUse) {
        long bytes = 0;
        for (BlockRegion region = byAddress.first(Long.MIN_VALUE);
                region != null;
                region = byAddress.next(region.byAddress)) {
            bytes += region.isEmpty() == areInUse ? 0 : region.byteSize;
        }
        return bytes;
    }

    /** Returns the largest request that one of some regions fits. Visits each. */
    long largestRoom(long byteAlignment, Predicate<BlockRegion> isMeant) {
        long largest = 0;
        for (BlockRegion region = byAddress.first(Long.MIN_VALUE);
                region != null;
                region = byAddress.next(region.byAddress)) {
            largest = isMeant.test(region) ? Math.max(largest, region.room(byteAlignment)) : largest;
        }
        return largest;
    }

    /** Describes each region, in order of address. */
    List<Region> inspect() {
        final List<Region> regions = new ArrayList<>(byAddress.count());
        for (BlockRegion region = byAddress.first(Long.MIN_VALUE);
                region != null;
                region = byAddress.next(region.byAddress)) {
            regions.add(region.inspect());
        }
        return regions;
    }

    /** Returns how many regions the upstream allocator has taken back at the first attempt. */
    long numReleased() {
        return numReleased;
    }

    /**
     * Takes a region that the configuration allows and that fits a request, or else memory for the request alone. The
     * caller adds it to its lane.
     *
     * @return the region; {@code null} if the limit or the upstream allocator has no memory for it
     */
    @Nullable
    BlockRegion take(long byteSize, BumpLane lane) {
        final long size = config.nextRegionBytes(byteSize, chainedBytes, memory.left());
        final BlockRegion region = size > 0 ? take(size, lane, false) : null;
        return region == null ? take(byteSize, lane, true) : region;
    }

    private @Nullable BlockRegion take(long byteSize, BumpLane lane, boolean isForOneRequest) {
        if (byteSize > memory.left()) {
            return null;
        }
        final BlockRegion region = new BlockRegion(byteSize, lane, isForOneRequest);
        try {
            region.placeAt(memory.take(byteSize));
        } catch (OutOfMemoryException e) {
            return null;
        }
        byAddress.add(region.byAddress, key(region.base()), 0);
        if (!isForOneRequest) {
            chainedBytes += byteSize;
        }
        return region;
    }

    /**
     * Gives back a region that is in no lane any more, after {@link UpstreamMemory#prepareReturns}. Returns whatever
     * the upstream allocator threw.
     */
    @Nullable
    Throwable release(BlockRegion region) {
        byAddress.remove(region.byAddress);
        if (!region.isForOneRequest) {
            chainedBytes -= region.byteSize;
        }
        final Throwable failure = memory.giveBack(region.base(), region.byteSize);
        if (failure == null) {
            numReleased++;
        }
        return failure;
    }
}
