package allocator.arena.chunk;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Best fit in regions of which only parts are backed by memory: takes the best fit of which all that is requested is
 * backed. Another part of the arena backs what is missing, and says here where: {@link #takeLeastLacking}.
 *
 * <p>One class, since a search ends with what it has found being taken, in the fields of {@link BestFit}.
 *
 * <p>A chunk is split whatever its excess, since a region is much larger than what lives in it.
 */
public final class BackedFit extends BestFit {
    private static final int NONE = Chunks.NONE;

    /** How many fits are examined for one that is backed. */
    private static final int MOST_EXAMINED = 8;

    /** How many fits are compared by what it costs to back them. */
    private static final int MOST_COMPARED = 64;

    /** At how many addresses in a fit a request is considered. */
    private static final int MOST_ADDRESSES = 16;

    private final Backing backing;

    /**
     * What {@link #findLeastLacking} has found: the cost of what a request lacks, in a fit with a key, at an address.
     */
    private int leastLacking;

    private long bestKey;
    private long bestAddress;

    /** Whether a free chunk was large enough, when none could be backed. */
    private boolean hasFit;

    /**
     * What backs the regions. It follows from what it was asked to do, and can be {@linkplain #recount recounted} from
     * the chunks.
     */
    public interface Backing {
        /** What {@link #lacks} returns for memory that cannot be backed now. */
        int IMPOSSIBLE = Integer.MAX_VALUE;

        /** What {@link #possible} returns if there is no address. */
        long NO_ADDRESS = BestFit.NO_ADDRESS;

        /**
         * Returns how much is to be done before a requester may use a free range.
         *
         * @param address the first address
         * @param byteSize size in bytes, above zero
         * @param requester the stream that will use it, {@code null} for none
         * @param enough a cost, above zero: no more than that needs to be counted
         * @return the cost in pages that are to be backed, of which those that are not free for that count as several;
         *     0 if it can be used at once, {@link #IMPOSSIBLE} if it cannot be backed now
         */
        int lacks(long address, long byteSize, @Nullable SyncStream requester, int enough);

        /**
         * Returns the first address at which a requester may use a free range at once: {@link #lacks} returns 0.
         *
         * @param address the first address to be considered
         * @param last the last one
         * @param byteSize size in bytes, above zero
         * @param requester the stream that will use it, {@code null} for none
         * @return an address, {@link #NO_ADDRESS} if there is none
         */
        long backed(long address, long last, long byteSize, @Nullable SyncStream requester);

        /**
         * Returns where the range might be that was passed to {@link #lacks} last, and that lacks something, to lack
         * less.
         *
         * @return the first address behind all that was counted
         */
        long behindLacking();

        /**
         * Returns the first address at which a range can be backed now, whatever part of it is backed. It may miss one
         * that {@link #lacks} finds, where only the memory that a requester alone still uses is in the way.
         *
         * @param address the first address to be considered
         * @param last the last one
         * @param byteSize size in bytes, above zero
         * @param requester the stream that will use it, {@code null} for none
         * @return an address, {@link #NO_ADDRESS} if there is none
         */
        long possible(long address, long last, long byteSize, @Nullable SyncStream requester);

        /**
         * Returns the end of what is backed in a region.
         *
         * @param address an address of the region
         * @return the first address from which on nothing is backed there
         */
        long end(long address);

        /**
         * Returns whether a requester may use a free range at once: {@link #lacks} returns 0.
         *
         * @param address the first address
         * @param byteSize size in bytes, above zero
         * @param requester the stream that will use it, {@code null} for none
         * @return whether it is backed
         */
        boolean isBacked(long address, long byteSize, @Nullable SyncStream requester);

        /**
         * Counts a use of what backs a range, all of which is backed. Begun, it does not fail.
         *
         * @param address the first address
         * @param byteSize size in bytes, above zero
         */
        void taken(long address, long byteSize);

        /**
         * Makes room for {@link #freed} by a stream.
         *
         * @param stream the stream, {@code null} for none
         * @return its number, until another method is called
         */
        int prepareFreed(@Nullable SyncStream stream);

        /**
         * Ends a use that {@link #taken} has counted, after {@link #prepareFreed}. Begun, it does not fail.
         *
         * @param address the first address
         * @param byteSize size in bytes, above zero
         * @param stream the number of the stream that has used it
         * @param stamp the stream's sync id
         */
        void freed(long address, long byteSize, int stream, long stamp);

        /**
         * Forgets that a stream may still use what it has freed.
         *
         * @param stream the stream
         */
        void unbind(SyncStream stream);

        /** Forgets all uses and all streams, before {@link #recount} of each chunk. */
        void clear();

        /**
         * Counts a chunk again.
         *
         * @param address the first address
         * @param byteSize size in bytes
         * @param isFree whether it is free; otherwise it is live
         * @param stream the stream that may still use a free chunk, {@code null} for none
         * @param stamp the stream's sync id at the free
         */
        void recount(long address, long byteSize, boolean isFree, @Nullable SyncStream stream, long stamp);
    }

    /**
     * Creates a placement without regions.
     *
     * @param backing what backs them
     */
    public BackedFit(Backing backing) {
        super(1);
        this.backing = backing;
        slots.fewEntries = StreamSlots.FEW_ENTRIES;
    }

    /** A region is only addresses: a lane that is hardly used takes little Java heap, so classes are made late. */
    private Slot slotOf(@Nullable SyncStream requester) {
        ensureClasses(unbound);
        return slot(requester);
    }

    @Override
    public long take(long granules, long requested, @Nullable SyncStream requester) {
        if (granules > Chunks.MAX_REGION_GRANULES) {
            return NO_ADDRESS;
        }
        final Slot slot = slotOf(requester);
        final long byteSize = Granules.toBytes(granules);
        long least = SizeOrder.first(granules);
        for (int examined = 0; examined < MOST_EXAMINED; examined++) {
            final int found = find(least, slot);
            if (found == NONE) {
                break;
            }
            if (backing.isBacked(foundAddress(found), byteSize, requester)) {
                final long address = takeFound(found, granules, requested, slot);
                backing.taken(address, byteSize);
                return address;
            }
            least = foundKey + 1;
        }
        return takeBacked(granules, requested, requester);
    }

    /** Returns the first address of what {@link #find} has found. */
    private long foundAddress(int found) {
        final Region region = region(found);
        final long offset = chunks.offset(found);
        if (!isEndFound || isHeadFound(region, found, offset)) {
            return region.address(offset);
        }
        return region.address(offset + granules(region, found) - chunks.untouchedTail(found));
    }

    private boolean isHeadFound(Region region, int found, long offset) {
        final long head = chunks.untouchedHead(found);
        return head > 0 && key(region, offset, head) == foundKey;
    }

    /** Finds the next fit that is compared: in order of size from {@code least} on, and at last one of the largest. */
    private int findCompared(int compared, long least, long granules, Slot slot) {
        return compared < MOST_COMPARED
                ? find(least, slot)
                : find(Math.max(least, SizeOrder.first(Math.max(granules, streamSearch.largest()))), slot);
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
        if (granules > Chunks.MAX_REGION_GRANULES) {
            return NO_ADDRESS;
        }
        final Slot slot = slotOf(requester);
        final long byteSize = Granules.toBytes(granules);
        long least = SizeOrder.first(granules);
        for (int compared = 0; compared <= MOST_COMPARED; compared++) {
            final int found = findCompared(compared, least, granules, slot);
            if (found == NONE) {
                break;
            }
            final long start = foundAddress(found);
            final long last = Math.min(lastAddress(found, start, granules), start + MOST_ADDRESSES * byteSize);
            final long address = backing.backed(start, last, byteSize, requester);
            if (address != NO_ADDRESS) {
                takeAt(address, found, granules, requested, slot);
                backing.taken(address, byteSize);
                return address;
            }
            least = foundKey + 1;
        }
        return NO_ADDRESS;
    }

    /**
     * Takes memory where the least is to be backed, if anything is: {@link #isBacked} says whether. If so, nothing of
     * what backs it counts as used: the caller backs what is missing, and counts all of it, or ends it with
     * {@link #freeUnbacked}.
     *
     * @param granules granules needed, at least 1
     * @param requested bytes that the caller requested, to be remembered
     * @param requester the stream that requests it, {@code null} for none
     * @param most the most that it may cost to back it, as {@link Backing#lacks} counts it
     * @return the address, {@link #NO_ADDRESS} if no free chunk that is large enough can be backed now, or each costs
     *     more
     */
    public long takeLeastLacking(long granules, long requested, @Nullable SyncStream requester, int most) {
        final Slot slot = slotOf(requester);
        findLeastLacking(granules, requester, slot);
        hasFit = true;
        if (leastLacking > most) {
            return NO_ADDRESS;
        }
        if (leastLacking == Backing.IMPOSSIBLE) {
            findPossible(granules, requester, slot);
        }
        if (leastLacking == Backing.IMPOSSIBLE) {
            return NO_ADDRESS;
        }
        final long address = takeAt(bestAddress, find(bestKey, slot), granules, requested, slot);
        if (leastLacking == 0) {
            backing.taken(address, Granules.toBytes(granules));
        }
        return address;
    }

    /**
     * Returns whether there was a free chunk for the last {@link #takeLeastLacking}, be it one that it could not take.
     */
    public boolean hasFit() {
        return hasFit;
    }

    /** Returns whether all of what was taken last by {@link #takeLeastLacking} was backed. */
    public boolean isBacked() {
        return leastLacking == 0;
    }

    /**
     * Finds where a request lacks the least: among the best fits, the smallest one, and among its addresses the first.
     */
    private void findLeastLacking(long granules, @Nullable SyncStream requester, Slot slot) {
        leastLacking = Backing.IMPOSSIBLE;
        if (granules > Chunks.MAX_REGION_GRANULES) {
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
                final int lacking = backing.lacks(address, byteSize, requester, leastLacking);
                if (lacking < leastLacking) {
                    leastLacking = lacking;
                    bestKey = foundKey;
                    bestAddress = address;
                }
                final long next = each == MOST_ADDRESSES - 2 ? last : Math.min(backing.behindLacking(), last);
                if (next == address) {
                    break;
                }
                address = next;
            }
            least = foundKey + 1;
        }
    }

    /**
     * Finds an address at which a request can be backed, among all addresses of all fits: the first one of the smallest
     * fit. Takes time proportional to what is mapped, where a requester would have to wait otherwise.
     */
    private void findPossible(long granules, @Nullable SyncStream requester, Slot slot) {
        hasFit = false;
        if (granules > Chunks.MAX_REGION_GRANULES) {
            return;
        }
        final long byteSize = Granules.toBytes(granules);
        long least = SizeOrder.first(granules);
        for (int found = find(least, slot); found != NONE; found = find(least, slot)) {
            hasFit = true;
            final long start = foundAddress(found);
            final long last = start + Granules.toBytes(SizeOrder.granules(foundKey) - granules);
            final long address = backing.possible(start, last, byteSize, requester);
            if (address != NO_ADDRESS) {
                leastLacking = backing.lacks(address, byteSize, requester, Backing.IMPOSSIBLE);
                bestKey = foundKey;
                bestAddress = address;
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
        final boolean isAtEnd = start + byteSize == region.base + region.byteSize();
        return isAtEnd ? Math.min(last, Math.max(start, backing.end(start))) : last;
    }

    /** Takes a part of what {@link #find} has found: of a chunk, or of an untouched head or tail. */
    private long takeAt(long address, int found, long granules, long requested, Slot slot) {
        final Region region = region(found);
        final long offset = Granules.floor(address - region.base);
        final long start = foundAddress(found);
        if (address == start) {
            return takeFound(found, granules, requested, slot);
        }
        ensureSpare();
        region.ensureEntry(offset);
        step = BEGUN; // until the chunk that is taken is known
        final long first = Granules.floor(start - region.base);
        final long whole = SizeOrder.granules(foundKey);
        final int owner = chunks.owner(found);
        int left = found;
        if (isEndFound) {
            left = carve(region, found, owner, foundKey, whole, offset - first);
        } else {
            removeFree(region, found, owner, first, whole);
        }
        final int right = split(left, offset, offset - first, whole - (offset - first));
        region.enter(this, right, offset);
        // Without an owner, it belongs to the next chunk, which another stream may own.
        final long merged = mergeWithNext(region, right, offset, whole - (offset - first));
        insertFree(region, right, chunks.owner(right), offset, merged);
        foundKey = key(region, offset, merged);
        isEndFound = false;
        final long taken = takeFound(right, granules, requested, slot);
        ensureSpare();
        coalesce(region, left, first, offset - first); // after that, so that it is not merged with what was taken
        return taken;
    }

    /** Splits a free chunk in two, of which one without memory that the owner has used has no owner. */
    private int split(int chunk, long offset, long left, long right) {
        if (chunks.owner(chunk) == StreamSlots.UNBOUND) {
            return chunks.split(chunk, offset, 0, 0);
        }
        final long head = chunks.untouchedHead(chunk);
        final long tail = chunks.untouchedTail(chunk);
        if (tail >= right) {
            return chunks.splitOwned(chunk, offset, false, Chunks.ends(head, tail - right));
        }
        return head >= left
                ? chunks.splitOwned(chunk, offset, true, Chunks.ends(head - left, tail))
                : chunks.split(chunk, offset, Chunks.ends(head, 0), Chunks.ends(0, tail));
    }

    @Override
    public void free(Region region, int chunk, long granules) {
        final long address = address(region, chunk);
        final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
        final long stamp = stream == null ? 0 : stream.syncId();
        final int number = backing.prepareFreed(stream);
        super.free(region, chunk, granules);
        backing.freed(address, Granules.toBytes(granules), number, stamp);
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
        backing.unbind(stream);
    }

    @Override
    public void releaseStream(SyncStream stream) {
        super.releaseStream(stream);
        step = BEGUN;
        backing.unbind(stream);
    }

    /**
     * Counts the uses of what backs the regions once more, from the chunks. Takes time proportional to their number.
     */
    public void recount() {
        backing.clear();
        for (int i = 0; i < regions.count(); i++) {
            final Region region = regions.at(i);
            for (int chunk = region.first; chunk != NONE; chunk = chunks.next(chunk)) {
                final SyncStream stream = slots.get(chunks.owner(chunk)).stream;
                final boolean isFree = chunks.isFree(chunk);
                backing.recount(
                        address(region, chunk),
                        Granules.toBytes(granules(region, chunk)),
                        isFree,
                        isFree ? stream : null,
                        isFree && stream != null ? chunks.stamp(chunk) : 0);
            }
        }
    }
}
