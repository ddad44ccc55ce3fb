package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.provider.support.internal.Failures;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.Arrays;
import java.util.List;

/**
 * The addresses of a lane: ranges that are reserved as they are needed, each as long as all before it together. The
 * lanes of an arena reserve no more than a multiple of its limit, nor than a multiple of the memory of the device.
 *
 * <p>Guarded by the device lock. What failed after a reservation is done at the next call.
 */
final class AddressRanges {
    /** The most of all lanes by the limit: what streams may still use is not in the way of others. */
    private static final int LIMITS = 48;

    /** The most of all lanes by the memory of the device: as much as is mapped at most. */
    private static final int MEMORIES = 2;

    /** The most of all lanes in pages, where that is more. */
    private static final int LEAST_PAGES = 1024;

    /**
     * The length of the first range of the arena, where a part of the most is longer. Large models have room in it:
     * where chunks lie in several ranges, a program that repeats itself calls the device more often.
     */
    private static final long FIRST_BYTES = 16L << 30;

    /** The same for each further lane, and as a part of the limit: tables are a little larger for a longer range. */
    private static final long FURTHER_BYTES = 1 << 30;

    private static final int FURTHER_PART = 128;

    /** A range has at most this part of the addresses that may yet be reserved, unless a request needs more. */
    private static final int PART = 8;

    /** The most places: more make no table. */
    private static final int MOST_PLACES = Integer.MAX_VALUE / 2;

    private static final int LEAST_ROOM = 8;

    private final PageSupply supply;
    private final Lane lane;
    private final Lanes lanes;

    /** By range: 0 if it is given back. The one at {@link #count} is reserved, not in use yet; 0 if there is none. */
    private long[] bases = new long[LEAST_ROOM];

    private long[] byteSizes = new long[LEAST_ROOM];

    /** The ranges in use. */
    private int count;

    /** The bytes of all ranges. */
    private long reserved;

    /** The length of the longest range, 0 if there is none. */
    long largest;

    /** The most of all lanes, 0 before the first range. */
    private long most;

    AddressRanges(PageSupply supply) {
        this.supply = supply;
        lane = supply.lane;
        lanes = supply.lanes;
    }

    /** Returns whether another range may have room for a request, as far as is known. */
    boolean mayAdd(long requested) {
        return needed(requested) <= left();
    }

    /**
     * Adds a range that has room for a request.
     *
     * @throws OutOfMemoryException if there are no addresses
     */
    void add(long requested) {
        final long needed = needed(requested);
        final LaneRegions room = lanes.roomFor(lane);
        if (count == bases.length) {
            byteSizes = Arrays.copyOf(byteSizes, 2 * count);
            bases = Arrays.copyOf(bases, 2 * count);
        }
        if (bases[count] == 0) {
            reserve(needed, requested);
        }
        final long base = bases[count];
        final long byteSize = byteSizes[count];
        final long granules = Granules.floor(byteSize);
        lane.locked(() -> {
            supply.placement.prepareRegion(granules); // a region's id is free only after that
            final Region range = supply.placement.newRegion(granules);
            range.setBase(base);
            supply.placement.step = BestFit.BEGUN;
            supply.table.places.add(base, byteSize);
            supply.placement.attach(range);
            return true;
        });
        lanes.entered(room, lane, base, byteSize);
        count++;
        largest = Math.max(largest, byteSize);
        if (byteSize < needed) { // it was reserved for another request
            add(requested);
        }
    }

    /** Reserves what is wanted, or a part of it, or at least what is needed: the JVM needs addresses as well. */
    private void reserve(long needed, long requested) {
        final long left = left();
        if (needed > left) {
            throw allInUse(requested);
        }
        final long first = left == most ? FIRST_BYTES : Math.min(FURTHER_BYTES, lanes.heldLimit.limit() / FURTHER_PART);
        final long wanted = Math.max(needed, Math.min(Math.max(first, reserved), left / PART) & -supply.pageBytes);
        for (long byteSize = wanted;
                ;
                byteSize = Math.max(needed, byteSize > wanted / PART ? wanted / PART & -supply.pageBytes : 0)) {
            try {
                bases[count] = supply.source.reserve(byteSize);
                byteSizes[count] = byteSize;
                reserved += byteSize;
                return;
            } catch (OutOfMemoryException e) {
                if (byteSize == needed) {
                    throw e;
                }
            }
        }
    }

    /** Returns the failure of a request for which nothing more may be reserved. */
    OutOfMemoryException allInUse(long requested) {
        return new OutOfMemoryException(
                "There are no free addresses for requested bytes of " + requested
                        + " among those of the arena, which reserves at most " + most + " bytes of them",
                Shortage.ofDevice(lane.info, requested, OutOfMemoryException.UNKNOWN));
    }

    private long needed(long requested) {
        return requested > Region.MAX_BYTES ? Long.MAX_VALUE : (requested + supply.pageBytes - 1) & -supply.pageBytes;
    }

    /** Returns how much may be reserved yet. */
    private long left() {
        if (most == 0) {
            final long byMemory = Math.min(supply.source.memoryBytes(), Long.MAX_VALUE / MEMORIES) * MEMORIES;
            final long byLimit = Math.min(lanes.heldLimit.limit(), Long.MAX_VALUE / LIMITS) * LIMITS;
            most = Math.max(Math.min(byMemory, byLimit) & -supply.pageBytes, LEAST_PAGES * supply.pageBytes);
        }
        long left = most - reserved;
        final List<PageSupply> others = supply.others();
        for (int i = 0; i < others.size(); i++) {
            left -= others.get(i).ranges.reserved;
        }
        return Math.min(Math.min(left, Region.MAX_BYTES), supply.table.places.left(MOST_PLACES) * supply.pageBytes);
    }

    /** Gives all ranges back, if nothing is mapped there. Under the device lock, after the lane was closed. */
    void giveBack(Failures failures) {
        if (supply.table.mappings.mappedPlaces() > 0) {
            return;
        }
        for (int i = Math.min(count, bases.length - 1); i >= 0; i--) {
            final int each = i;
            if (bases[each] != 0) {
                failures.run(() -> {
                    lanes.leaving(lane, bases[each]);
                    supply.source.unreserve(bases[each], byteSizes[each]);
                    bases[each] = 0;
                });
            }
        }
    }
}
