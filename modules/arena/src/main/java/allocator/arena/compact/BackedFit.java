package allocator.arena.compact;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.arena.chunk.SizeOrder;
import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Best fit in regions of which only parts are backed by memory: takes the best fit of which all that is requested is
 * backed. The growth of pages backs what is missing, where {@link #takeLeastLacking} says.
 */
public final class BackedFit extends BestFit {
    private static final int NONE = Region.NO_CHUNK;
    private static final int IMPOSSIBLE = PageTable.IMPOSSIBLE;
    private static final long MOST_GRANULES = Granules.floor(Region.MAX_BYTES);

    /** How many fits are examined for one that is backed. */
    private static final int MOST_EXAMINED = 8;

    /** How many fits are compared by what it costs to back them. */
    private static final int MOST_COMPARED = 64;

    /** At how many addresses in a fit a request is considered. */
    private static final int MOST_ADDRESSES = 16;

    private final PageTable table;

    /** What {@link #findLeastLacking} found: the cost of what a request lacks, in a fit with a key, at an address. */
    private int leastLacking;

    private int best;
    private boolean isBestEnd;
    private long bestKey;
    private long bestAddress;

    /** Whether a free chunk was large enough, when none could be backed. */
    private boolean hasFit;

    /**
     * Creates a placement without regions.
     *
     * @param table says what backs them
     */
    public BackedFit(PageTable table) {
        this.table = table;
    }

    @Override
    public long take(long granules, long requested, @Nullable SyncStream requester) {
        if (granules > MOST_GRANULES) {
            return NO_ADDRESS;
        }
        final Slot slot = slotForAddresses(requester);
        final long byteSize = Granules.toBytes(granules);
        long least = SizeOrder.first(granules);
        for (int examined = 0; examined < MOST_EXAMINED; examined++) {
            final int found = find(least, slot);
            if (found == NONE) {
                break;
            }
            if (table.isBacked(foundAddress(found), byteSize, requester)) {
                final long address = takeFound(found, granules, requested, slot);
                table.taken(address, byteSize);
                return address;
            }
            least = foundKey + 1;
        }
        return takeBacked(granules, requested, requester);
    }

    /** Finds the next fit that is compared: in order of size from {@code least} on, and at last one of the largest. */
    private int findCompared(int compared, long least, long granules, Slot slot) {
        return compared < MOST_COMPARED
                ? find(least, slot)
                : find(Math.max(least, SizeOrder.first(Math.max(granules, largest()))), slot);
    }

    /**
     * Takes memory that is backed, at whichever address of a fit.
     *
     * @param granules granules needed, at least 1
     * @param requested bytes that the caller requested, to be remembered
     * @param requester the stream that requests it, {@code null} for none
     * @return the address, {@link #NO_ADDRESS} if none was found
     */
    public long takeBacked(long granules, long requested, @Nullable SyncStream requester) {
        if (granules > MOST_GRANULES) {
            return NO_ADDRESS;
        }
        final Slot slot = slotForAddresses(requester);
        final long byteSize = Granules.toBytes(granules);
        long least = SizeOrder.first(granules);
        for (int compared = 0; compared <= MOST_COMPARED; compared++) {
            final int found = findCompared(compared, least, granules, slot);
            if (found == NONE) {
                break;
            }
            final long start = foundAddress(found);
            final long last = Math.min(lastAddress(found, start, granules), start + MOST_ADDRESSES * byteSize);
            final long address = table.backed(start, last, byteSize, requester);
            if (address != NO_ADDRESS) {
                takeAt(address, found, granules, requested, slot);
                table.taken(address, byteSize);
                return address;
            }
            least = foundKey + 1;
        }
        return NO_ADDRESS;
    }

    /**
     * Takes memory where the least is to be backed, if anything is: {@link #isBacked} says whether. If so, nothing of
     * what backs it counts as used: the caller backs what is missing, and counts all of it, or ends it with
     * {@link #freeUnbacked}. Returns the address, {@link #NO_ADDRESS} if no free chunk that is large enough can be
     * backed now, or each costs more.
     *
     * @param granules granules needed, at least 1
     * @param requested bytes that the caller requested, to be remembered
     * @param requester the stream that requests it, {@code null} for none
     * @param most the most that it may cost to back it, as {@link PageTable#lacks} counts it
     */
    public long takeLeastLacking(long granules, long requested, @Nullable SyncStream requester, int most) {
        final Slot slot = slotForAddresses(requester);
        findLeastLacking(granules, requester, slot);
        hasFit = true;
        if (leastLacking > most) {
            return NO_ADDRESS;
        }
        if (leastLacking == IMPOSSIBLE) {
            findPossible(granules, requester, slot);
        }
        if (leastLacking == IMPOSSIBLE) {
            return NO_ADDRESS;
        }
        foundKey = bestKey;
        isEndFound = isBestEnd;
        final long address = takeAt(bestAddress, best, granules, requested, slot);
        if (leastLacking == 0) {
            table.taken(address, Granules.toBytes(granules));
        }
        return address;
    }

    /** Returns whether there was a free chunk for the last {@link #takeLeastLacking}, be it one it could not take. */
    public boolean hasFit() {
        return hasFit;
    }

    /** Returns whether all of what was taken last by {@link #takeLeastLacking} was backed. */
    public boolean isBacked() {
        return leastLacking == 0;
    }

    /** Finds where a request lacks the least: the smallest of the best fits, and the first of its addresses. */
    private void findLeastLacking(long granules, @Nullable SyncStream requester, Slot slot) {
        leastLacking = IMPOSSIBLE;
        if (granules > MOST_GRANULES) {
            return;
        }
        final long byteSize = Granules.toBytes(granules);
        long least = SizeOrder.first(granules);
        for (int compared = 0; compared <= MOST_COMPARED && leastLacking > 0; compared++) {
            final int found = findCompared(compared, least, granules, slot);
            if (found == NONE) {
                break;
            }
            final long start = foundAddress(found);
            final long last = lastAddress(found, start, granules);
            long address = start;
            for (int each = 0; each < MOST_ADDRESSES && leastLacking > 0; each++) {
                final int lacking = table.lacks(address, byteSize, requester, leastLacking);
                if (lacking < leastLacking) {
                    leastLacking = lacking;
                    keepFound(found, address);
                }
                final long next = each == MOST_ADDRESSES - 2 ? last : Math.min(table.behindLacking(), last);
                if (next == address) {
                    break;
                }
                address = next;
            }
            least = foundKey + 1;
        }
    }

    /**
     * Keeps what {@link #find} has found. Another search for its key may find something else: streams end while this
     * one looks, and of a chunk whose owner has ended the untouched ends are no fits of their own.
     */
    private void keepFound(int found, long address) {
        best = found;
        isBestEnd = isEndFound;
        bestKey = foundKey;
        bestAddress = address;
    }

    /**
     * Finds an address at which a request can be backed, among all addresses of all fits: the first one of the smallest
     * fit. Takes time proportional to what is mapped, where a requester would have to wait otherwise.
     */
    private void findPossible(long granules, @Nullable SyncStream requester, Slot slot) {
        hasFit = false;
        if (granules > MOST_GRANULES) {
            return;
        }
        final long byteSize = Granules.toBytes(granules);
        long least = SizeOrder.first(granules);
        for (int found = find(least, slot); found != NONE; found = find(least, slot)) {
            hasFit = true;
            final long start = foundAddress(found);
            final long last = start + Granules.toBytes(SizeOrder.granules(foundKey) - granules);
            final long address = table.possible(start, last, byteSize, requester);
            if (address != NO_ADDRESS) {
                leastLacking = table.lacks(address, byteSize, requester, IMPOSSIBLE);
                keepFound(found, address);
                return;
            }
            least = foundKey + 1;
        }
    }

    /**
     * Returns the last address in what {@link #find} has found at which a request is considered: that at its end, so
     * that it shares a page with what is next; at the end of the region the first one from which on nothing is backed.
     */
    private long lastAddress(int found, long start, long granules) {
        final long byteSize = Granules.toBytes(SizeOrder.granules(foundKey));
        final long last = start + byteSize - Granules.toBytes(granules);
        final Region region = region(found);
        final boolean isAtEnd = start + byteSize == region.base() + region.byteSize();
        return isAtEnd ? Math.min(last, Math.max(start, table.end(start))) : last;
    }

    @Override
    public void free(Region region, int chunk, long granules) {
        final long address = address(region, chunk);
        final SyncStream stream = stream(chunk);
        final long stamp = stream == null ? 0 : stream.syncId();
        final int number = table.prepareFreed(stream);
        super.free(region, chunk, granules);
        table.freed(address, Granules.toBytes(granules), number, stamp);
    }

    /**
     * Frees what {@link #takeLeastLacking} took and nothing backs. Call {@link #prepareFree} before.
     *
     * @param region its region
     * @param chunk the chunk
     * @param granules its size
     */
    public void freeUnbacked(Region region, int chunk, long granules) {
        super.free(region, chunk, granules);
    }

    @Override
    public void endRun(SyncStream stream) {
        super.endRun(stream);
        step = BEGUN;
        table.unbind(stream);
    }

    @Override
    public void releaseStream(SyncStream stream) {
        super.releaseStream(stream);
        step = BEGUN;
        table.unbind(stream);
    }

    /** Counts the uses of what backs the regions again, from the chunks. Takes time proportional to their number. */
    public void recount() {
        table.clear();
        for (int i = 0; i < regions().count(); i++) {
            final Region region = regions().at(i);
            for (int chunk = region.first(); chunk != NONE; chunk = next(chunk)) {
                final SyncStream stream = stream(chunk);
                final boolean isFree = !isLive(chunk);
                table.recount(
                        address(region, chunk),
                        Granules.toBytes(granules(region, chunk)),
                        isFree,
                        isFree ? stream : null,
                        isFree && stream != null ? stamp(chunk) : 0);
            }
        }
    }
}
