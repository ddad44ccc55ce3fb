package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.arena.compact.PageTable;
import allocator.provider.support.Limit;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Chooses what backs the places that a chunk lacks: a new extent while the arena holds no more than what has been in
 * use at once and the slack, then an idle one from elsewhere. Idle ones that are too large are released, so that
 * smaller ones can be created in their place. Where idle ones have been moved often, the slack is twice as wide.
 * Guarded by the arena's lock.
 */
final class ExtentChoice {
    private static final int NONE = PageTable.NONE;

    /** How many of the largest extents a limit has room for at least, unless it has room for fewer pages. */
    private static final int LEAST_IN_LIMIT = 16;

    private final PageSupply supply;
    private final Lane lane;
    private final Lanes lanes;
    private final PageTable table;
    private final CompactConfig config;
    private final double slack;

    /** Says how often idle extents may be moved. */
    final MoveCap cap;

    /** The device has no memory for an extent with more pages. */
    private long mostPages;

    /** The pages of extents that were released for the chunk, and that have not been created again. */
    private long owedPages;

    /** Why the device has no memory. */
    private @Nullable OutOfMemoryException shortage;

    ExtentChoice(PageSupply supply) {
        this.supply = supply;
        lane = supply.lane;
        lanes = supply.lanes;
        table = supply.table;
        config = lane.config.compact();
        slack = config.slackPercent() / 100.0;
        cap = new MoveCap(config.allocationsPerMove());
    }

    /**
     * What is to be done next.
     *
     * @param extent an extent in hand, to be mapped or released; {@link #NONE} if one is to be created
     * @param pages the size of the extent that is to be created
     * @param space how many pages of an extent can be mapped, if one is taken over instead
     * @param isReleased whether the extent is to be released
     */
    record Next(int extent, int pages, int space, boolean isReleased) {}

    /** Begins with a chunk. */
    void begin() {
        mostPages = Long.MAX_VALUE;
        owedPages = 0;
        shortage = null;
    }

    /** Notes that the device has no memory for an extent of a size. */
    void setTooLarge(int pages, OutOfMemoryException reason) {
        mostPages = pages / 2;
        shortage = reason;
    }

    /**
     * Chooses what backs places from one on.
     *
     * @param peak the most bytes that have been in use, the chunk included
     * @param stream the stream that requests the chunk
     * @return what is to be done, {@code null} if nothing can be created, and no idle extent can be used now
     */
    @Nullable
    Next choose(int place, long peak, @Nullable SyncStream stream) {
        final int run = table.growing.unclaimedFrom(place);
        final int largest = largest(peak);
        final int free = table.growing.isLast(place + run - 1) ? freePlaces(place + run, largestOfAll()) : 0;
        final int space = run + Math.min(free, largest);
        final int spaceForAny = run + free;
        table.ensureRoom(place + spaceForAny);
        final long available = creatable();
        final long most = Math.min(Math.min(run, largest), available);
        final long room = room(peak, slack);
        if (Math.min(most, room) == run) {
            return create(Math.min(Math.min(space, largest), Math.min(available, room)), spaceForAny);
        }
        final long within = Math.min(most, Math.max(owedPages, room));
        if (within > 0) {
            return create(within, spaceForAny);
        }
        final int idle = table.idleExtents.find(run, space, stream);
        final int larger = idle == NONE ? table.idleExtents.smallestReleasable() : NONE;
        if (idle == NONE && larger == NONE) {
            return most == 0 ? null : create(most, spaceForAny);
        }
        if (!cap.allows(lane.counters.allocs)) {
            final long widened = Math.min(most, room(peak, 2 * slack));
            if (widened > 0) {
                cap.deny();
                return create(widened, spaceForAny);
            }
        }
        cap.move();
        return idle == NONE ? release(larger) : map(idle);
    }

    /**
     * Returns the most pages of a new extent. Under a limit it is a small part of that, so that idle pages beside a
     * live block are not in the way of a reserve.
     */
    private int largest(long peak) {
        final long byPeak = Math.max(config.leastExtentPages(), peak / supply.pageBytes / config.extentDivisor());
        final long byLimit = lanes.heldLimit.limit() / LEAST_IN_LIMIT / supply.pageBytes;
        return (int) Math.max(1, Math.min(byPeak, byLimit));
    }

    /** Returns the most pages that an extent of another lane may have, about. */
    private int largestOfAll() {
        return largest(lanes.heldLimit.limit() - lanes.heldLimit.available());
    }

    /** Returns how many places from one on have no mapping, up to a number. */
    private int freePlaces(int place, int most) {
        final long end = Math.min(place + (long) most, table.places.endOfRange(place));
        int free = place;
        while (free < end && table.mappings.extent(free) == NONE) {
            free++;
        }
        return free - place;
    }

    /** Returns how many pages may be created until the arena holds the most in use, and a part of it more. */
    private long room(long peak, double part) {
        final long most = peak + Math.max((long) (peak * part), config.leastSlackPages() * supply.pageBytes);
        return most / supply.pageBytes - table.pages();
    }

    /** Returns how many pages there are beyond what the most in use and twice the slack need; negative if fewer. */
    long spare(long peak) {
        return -room(peak, 2 * slack);
    }

    private Next create(long pages, int space) {
        owedPages = Math.max(0, owedPages - pages);
        return new Next(NONE, (int) pages, space, false);
    }

    private Next map(int extent) {
        table.extents.take(extent);
        return new Next(extent, 0, 0, false);
    }

    private Next release(int extent) {
        final int pages = table.extents.size(extent);
        owedPages += pages;
        mostPages = Math.max(mostPages, pages);
        table.extents.take(extent);
        return new Next(extent, 0, 0, true);
    }

    /** Returns how many pages the limit has room for, and the device as far as it is known. Under the device lock. */
    long creatable() {
        return Math.min(lanes.heldLimit.available() / supply.pageBytes, mostPages);
    }

    /** Returns why there are too few pages for a request. */
    OutOfMemoryException shortage(long byteSize) {
        final OutOfMemoryException ofDevice = shortage;
        if (ofDevice != null) {
            return ofDevice;
        }
        final long available = lanes.heldLimit.available();
        final long idle = table.idle() * supply.pageBytes;
        final long rounded = Granules.roundUp(byteSize);
        final String reason = rounded <= available - supply.pageBytes || rounded <= available - supply.pageBytes + idle
                ? "There are no addresses that can be backed now for requested bytes of " + rounded
                : "Available memory of " + available / supply.pageBytes * supply.pageBytes
                        + " in pages that can be created and of " + idle
                        + " in idle ones is too little for requested bytes of " + rounded + " under "
                        + Limit.KEY.name();
        return new OutOfMemoryException(
                reason, OutOfMemoryException.Shortage.ofDevice(lane.info, byteSize, OutOfMemoryException.UNKNOWN));
    }

    /** Returns a shortage without what the device has left. */
    OutOfMemoryException ofUnknown(OutOfMemoryException known) {
        return new OutOfMemoryException(
                String.valueOf(known.getMessage()),
                OutOfMemoryException.Shortage.ofDevice(
                        lane.info, known.shortage().requested(), OutOfMemoryException.UNKNOWN));
    }
}
