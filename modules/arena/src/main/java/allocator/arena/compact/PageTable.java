package allocator.arena.compact;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.ConsistencyCheck;
import allocator.spi.SyncStream;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Who may use which place of the range, and the chunk that is being backed: what follows from {@link Extents} and
 * {@link Mappings} together.
 *
 * <p>While an extent has live chunks, requesters use it through its current mapping only. Once it is idle, it may be
 * used through another mapping, or be mapped elsewhere, by those who come after the streams that freed memory in it.
 * Chunks at one mapping share its extent, whatever their streams: which chunk a stream may use is known from the
 * chunks.
 *
 * <p>One class, since each change of the tables follows from who may use a place, and changes who may.
 *
 * <p>Guarded by the arena's lock. Changes are plain stores, so that they do not fail once they have begun; room is made
 * before.
 */
public final class PageTable {
    /** No extent, mapping or place. */
    public static final int NONE = -1;

    /** What {@link #pending} returns if no stream may use what is mapped; no stream has this id. */
    public static final long NO_STREAM = LastFrees.NO_STREAM;

    /** What {@link #backing} returns where nothing is mapped. */
    private static final long UNMAPPED = -2;

    /** What {@link #lacks} returns for memory that cannot be backed now. */
    public static final int IMPOSSIBLE = Integer.MAX_VALUE;

    /** What {@link #backed} and {@link #possible} return if there is no address. */
    private static final long NO_ADDRESS = BestFit.NO_ADDRESS;

    /**
     * What a place counts as where a mapping has to end for a chunk, beside one without a mapping: the end is a call
     * more, and a program that repeats what it has done wants the mapping again, so that its calls would never end.
     */
    private static final int ENDING = 4;

    public final FreeingStreams streams = new FreeingStreams();
    public final Mappings mappings = new Mappings(streams);
    public final Extents extents = new Extents(streams);
    public final IdleExtents idleExtents = new IdleExtents(extents, mappings);

    /** The chunk that is being backed. */
    public final Growing growing = new Growing();

    public final RangePlaces places;

    /** Counts the ranges examined. */
    private long search;

    /** The extent of the range that was found to be backed last, if the range lies in its current mapping. */
    private int found = NONE;

    /** The place behind all that the range examined last lacks. */
    private int behindLacking;

    /** Whether a chunk may use an idle extent only if the extent ends within it. */
    private boolean isExact;

    /**
     * Creates a table without extents.
     *
     * @param pageBytes the size of a page
     */
    public PageTable(long pageBytes) {
        places = new RangePlaces(Long.numberOfTrailingZeros(pageBytes));
    }

    /** Returns the place of an address. */
    public int place(long address) {
        return places.place(address);
    }

    /** Returns the first address of a place. Under one of the locks. */
    public long address(int place) {
        return places.address(place);
    }

    /** Makes room for mappings at places up to one, and for one more extent. */
    public void ensureRoom(int lastPlace) {
        mappings.ensureRoom(lastPlace);
        extents.ensureRoom();
    }

    /** Returns the place behind the mapping at a place. */
    private int endOfMapping(int place) {
        return endOf(mappings.entry(place));
    }

    /** Returns the place behind the mapping of an entry. */
    private int endOf(long entry) {
        return Mappings.firstOf(entry) + extents.size(Mappings.extentOf(entry));
    }

    /** Returns whether a mapping that a requester may use is at a place of a range, of which this is the entry. */
    private boolean isUsable(long entry, int first, int last, @Nullable SyncStream requester) {
        if (entry <= 0) {
            return false;
        }
        final int extent = Mappings.extentOf(entry);
        final int uses = extents.uses(extent);
        return uses > 0
                ? extents.current(extent) == Mappings.firstOf(entry) && extents.earlier.isBefore(extent, requester)
                : uses == 0 && isIdleUsable(entry, first, last, requester);
    }

    /**
     * Returns whether a requester may use an idle extent through the mapping of an entry. It may have two mappings in
     * one range: it is usable through the first of them, of those that are visited in one search.
     */
    private boolean isIdleUsable(long entry, int first, int last, @Nullable SyncStream requester) {
        final int extent = Mappings.extentOf(entry);
        final int mapping = Mappings.firstOf(entry);
        final boolean isInside = mapping >= first && endOf(entry) <= last + 1;
        if (extents.isFoundBy(extent, search)
                || (isExact && !isInside)
                || (extents.current(extent) != mapping && !idleExtents.mayMove(extent, requester))
                || !extents.earlier.isBefore(extent, requester)) {
            return false;
        }
        extents.setFoundBy(extent, search);
        return true;
    }

    /** Returns the first address in the range of another one from which on nothing is backed. */
    long end(long address) {
        return places.end(address, mappings);
    }

    /** Returns whether a requester, {@code null} for none, may use a free range at once: {@link #lacks} returns 0. */
    boolean isBacked(long address, long byteSize, @Nullable SyncStream requester) {
        search++;
        found = NONE;
        final int first = place(address);
        final int last = places.nearPlace(address + byteSize - 1);
        long entry = mappings.entry(first);
        boolean isUsable = isUsable(entry, first, last, requester);
        if (isUsable && endOf(entry) > last) {
            final int extent = Mappings.extentOf(entry);
            found = extents.current(extent) == Mappings.firstOf(entry) ? extent : NONE;
            return true;
        }
        while (isUsable && endOf(entry) <= last) {
            entry = mappings.entry(endOf(entry));
            isUsable = isUsable(entry, first, last, requester);
        }
        return isUsable;
    }

    /**
     * Returns the first address, from {@code address} to {@code last}, at which a requester may use a free range at
     * once: {@link #lacks} returns 0. {@link #NO_ADDRESS} if there is none.
     */
    long backed(long address, long last, long byteSize, @Nullable SyncStream requester) {
        search++;
        found = NONE;
        long from = address;
        int first = place(from);
        int end = place(from + byteSize - 1);
        int place = first;
        while (place <= end) {
            final long entry = mappings.entry(place);
            final int next = entry == 0 ? place + 1 : endOf(entry);
            if (!isUsable(entry, first, end, requester)) {
                search++; // what was visited is no part of the range any more
                from = places.near(next);
                if (from > last) {
                    return NO_ADDRESS;
                }
                first = next;
                end = place(from + byteSize - 1);
            }
            place = next;
        }
        return from;
    }

    /**
     * Returns how much is to be done before a requester may use a free range.
     *
     * @param address the first address
     * @param byteSize size in bytes, above zero
     * @param requester the stream that will use it, {@code null} for none
     * @param enough a cost, above zero: no more than that needs to be counted
     * @return the cost in pages that are to be backed, of which those that are not free for that count as several; 0 if
     *     it can be used at once, {@link #IMPOSSIBLE} if it cannot be backed now
     */
    int lacks(long address, long byteSize, @Nullable SyncStream requester, int enough) {
        search++;
        found = NONE;
        final int first = place(address);
        final int last = place(address + byteSize - 1);
        int lacking = 0;
        boolean isPossible = true;
        int place = first;
        while (place <= last && lacking < enough) {
            final long entry = mappings.entry(place);
            final boolean isMapped = entry != 0;
            final int next = isMapped ? endOf(entry) : place + 1;
            if (!isUsable(entry, first, last, requester)) {
                isPossible &= !isMapped || canBeEnded(Mappings.firstOf(entry));
                lacking += (Math.min(next, last + 1) - place) * (isMapped ? ENDING : 1);
                behindLacking = next;
            }
            place = next;
        }
        return isPossible ? lacking : IMPOSSIBLE;
    }

    /**
     * Returns where the range might be that was passed to {@link #lacks} last, and that lacks something, to lack less:
     * the first address behind all that was counted.
     */
    long behindLacking() {
        return places.near(behindLacking);
    }

    /**
     * Returns the first address, from {@code address} to {@code last}, at which a range can be backed now, whatever
     * part of it is backed; {@link #NO_ADDRESS} if there is none. It may miss one that {@link #lacks} finds, where only
     * the memory that a requester alone still uses is in the way.
     */
    long possible(long address, long last, long byteSize, @Nullable SyncStream requester) {
        long from = address;
        int place = place(from);
        while (place <= place(from + byteSize - 1)) {
            int next = place + 1;
            if (mappings.extent(place) != NONE) {
                next = endOfMapping(place);
                if (!isUsableInPart(place, requester) && !canBeEnded(mappings.first(place))) {
                    from = places.near(next);
                    if (from > last) {
                        return NO_ADDRESS;
                    }
                }
            }
            place = next;
        }
        return from;
    }

    /** Returns whether a requester may use the mapping at a place, whichever part of it: its extent is in use there. */
    private boolean isUsableInPart(int place, @Nullable SyncStream requester) {
        final int extent = mappings.extent(place);
        return !extents.isIdle(extent)
                && extents.isCurrent(extent, place)
                && !extents.isInHand(extent)
                && extents.earlier.isBefore(extent, requester);
    }

    /** Returns whether all work through a mapping is done, and its extent is used elsewhere or not at all. */
    private boolean canBeEnded(int mapping) {
        final int extent = mappings.extent(mapping);
        return mappings.frees.isNone(mapping)
                && !extents.isInHand(extent)
                && (extents.isIdle(extent) || !extents.isCurrent(extent, mapping));
    }

    /** Counts a use of what backs a range, all of which is backed. Begun, it does not fail. */
    void taken(long address, long byteSize) {
        if (found != NONE) {
            extents.use(found);
            return;
        }
        int place = place(address);
        final int last = places.nearPlace(address + byteSize - 1);
        while (place <= last) {
            place = use(mappings.entry(place));
        }
    }

    /** Counts a use of an extent through the mapping of an entry, and returns the place behind the mapping. */
    private int use(long entry) {
        final int extent = Mappings.extentOf(entry);
        final int mapping = Mappings.firstOf(entry);
        if (extents.current(extent) != mapping) {
            if (extents.hasCurrent(extent)) {
                extents.earlier.record(extent, mappings.frees, extents.current(extent));
            }
            extents.setCurrent(extent, mapping);
        }
        extents.use(extent);
        return mapping + extents.size(extent);
    }

    /**
     * Makes room for {@link #freed} by a stream, {@code null} for none, and returns its number, until another method is
     * called.
     */
    int prepareFreed(@Nullable SyncStream stream) {
        return stream == null ? FreeingStreams.NONE : streams.number(stream);
    }

    /**
     * Ends a use that {@link #taken} has counted, after {@link #prepareFreed}. Begun, it does not fail.
     *
     * @param stream the number of the stream that has used it
     * @param stamp the stream's sync id
     */
    void freed(long address, long byteSize, int stream, long stamp) {
        streams.countFree(stream);
        int place = place(address);
        final int last = places.nearPlace(address + byteSize - 1);
        do {
            final long entry = mappings.entry(place);
            extents.release(Mappings.extentOf(entry));
            if (stream != FreeingStreams.NONE) {
                mappings.frees.record(Mappings.firstOf(entry), stream, stamp);
            }
            place = endOf(entry);
        } while (place <= last);
    }

    /** Forgets that a stream may still use what it has freed. */
    void unbind(SyncStream stream) {
        streams.finish(stream);
    }

    /** Forgets all uses and all streams, before {@link #recount} of each chunk. */
    void clear() {
        streams.countFree(FreeingStreams.NONE); // what is recounted comes after all that is known to be done
        mappings.frees.clear();
        extents.clearUses();
        for (int place = growing.nextClaimed(0); place != NONE; place = growing.nextClaimed(endOfMapping(place))) {
            use(mappings.entry(place));
        }
    }

    /**
     * Counts a chunk again.
     *
     * @param isFree whether it is free; otherwise it is live
     * @param stream the stream that may still use a free chunk, {@code null} for none
     * @param stamp the stream's sync id at the free
     */
    void recount(long address, long byteSize, boolean isFree, @Nullable SyncStream stream, long stamp) {
        if (isFree ? stream == null : growing.isAt(address)) {
            return;
        }
        final int number = stream == null ? NONE : streams.recountFree(stream);
        final int last = Math.min(place(address + byteSize - 1), mappings.end() - 1);
        int place = place(address);
        while (place <= last) {
            int next = place + 1;
            if (mappings.extent(place) != NONE) {
                next = endOfMapping(place);
                if (isFree) {
                    mappings.frees.record(mappings.first(place), number, stamp);
                } else {
                    use(mappings.entry(place));
                }
            }
            place = next;
        }
    }

    /** Sets whether chunks may use only idle extents that end within them, so that no page of one is of no use. */
    public void setExact(boolean exact) {
        isExact = exact;
    }

    /**
     * Begins to back a chunk: uses those of its mappings that the requester may use, and begins to end the others.
     * Begun, it fails only where the stack ends, before the {@linkplain Growing#end end} of the growth has any effect.
     *
     * @param claims has room for the chunk's places
     */
    public void beginGrowth(long address, long byteSize, @Nullable SyncStream requester, BitSet claims) {
        search++;
        final int first = place(address);
        final int last = place(address + byteSize - 1);
        growing.begin(address, first, last, claims);
        int place = first;
        while (place <= last) {
            int next = place + 1;
            if (mappings.extent(place) != NONE) {
                next = endOfMapping(place);
                if (isUsable(mappings.entry(place), first, last, requester)) {
                    growing.claim(place, next);
                    use(mappings.entry(place));
                } else {
                    beginUnmap(mappings.first(place));
                }
            }
            place = next;
        }
    }

    /** Begins to end a mapping: its extent is not used through it any more. */
    public void beginUnmap(int mapping) {
        final int extent = mappings.extent(mapping);
        if (extents.isCurrent(extent, mapping)) {
            extents.setNoCurrent(extent);
        }
        mappings.setEnding(mapping, extents.size(extent));
    }

    /** Begins to end a mapping of no use, of which there may be more; returns {@link #NONE} if it finds none. */
    public int beginUnmapUseless() {
        final int mapping = idleExtents.uselessMapping();
        if (mapping != NONE) {
            beginUnmap(mapping);
        }
        return mapping;
    }

    /** Begins to end the first mapping of no use from a place on; returns {@link #NONE} if there is none. */
    public int beginUnmapUseless(int from) {
        for (int place = from; place < mappings.end(); place++) {
            if (mappings.isFirst(place) && idleExtents.isUseless(place)) {
                beginUnmap(place);
                return place;
            }
        }
        return NONE;
    }

    /** Notes that a mapping has ended. */
    public void endUnmap(int mapping) {
        final int extent = mappings.extent(mapping);
        final int list = mappings.remove(mapping, extents.size(extent), extents.mappings(extent));
        extents.setMappings(extent, list, extents.mappingCount(extent) - 1);
    }

    private void addMapping(int place, int extent) {
        mappings.add(place, extent, extents.size(extent), extents.mappings(extent));
        places.mappedUpTo(place + extents.size(extent));
        extents.setMappings(extent, place, extents.mappingCount(extent) + 1);
        extents.putBack(extent);
    }

    /** Notes that an extent in hand may be mapped at a place, where it is not used, and makes it idle. */
    public void mappingFailed(int place, int extent) {
        addMapping(place, extent);
        mappings.setEnding(place, extents.size(extent));
    }

    /** Notes that an extent in hand is mapped at a place of the chunk that is being backed, and uses it there. */
    public void claimMapped(int place, int extent) {
        addMapping(place, extent);
        use(mappings.entry(place));
        growing.claim(place, place + extents.size(extent));
    }

    /** Ends the uses of the chunk that is being backed. No work has used it. */
    public void abandonGrowth() {
        for (int place = growing.nextClaimed(0); place != NONE; place = growing.nextClaimed(endOfMapping(place))) {
            extents.release(mappings.extent(place));
        }
        growing.end();
    }

    /** Returns whether memory is mapped at an address: the mapping through which its extent is used. */
    public boolean isMapped(long address) {
        final int place = place(address);
        final int extent = mappings.extent(place);
        return extent != NONE && extents.isCurrent(extent, place);
    }

    /**
     * Returns which stream may still use the memory that is mapped at an address, through another mapping that was in
     * use before: it serves no other request until that stream is done, although nothing of it is live here.
     *
     * @param address an address at which memory {@linkplain #isMapped is mapped}
     * @return the id of the stream; {@link #NO_STREAM} for none, {@code 0} for several
     */
    public long pending(long address) {
        return extents.earlier.pending(mappings.extent(place(address)));
    }

    private long backing(long address) {
        return isMapped(address) ? pending(address) : UNMAPPED;
    }

    /**
     * {@return up to where a part of a range is mapped, or not mapped, as its first byte is, and to where the same
     * stream may still use it: an address behind the first, at most the end}
     *
     * @param address the first address
     * @param end the first address behind the part
     */
    public long sameMapping(long address, long end) {
        final long backing = backing(address);
        final long last = end(address);
        long next = Math.min(end, address(place(address) + 1));
        while (next < end && next < last && backing(next) == backing) {
            next = Math.min(end, address(place(next) + 1));
        }
        return next < end && backing == UNMAPPED && next >= last ? end : next;
    }

    /** Returns the number of pages. */
    public int pages() {
        return extents.pages();
    }

    /** Returns the number of pages of idle extents. */
    public int idle() {
        return extents.idlePages();
    }

    /** Gives back Java heap that the tables no longer need. */
    public void compact() {
        streams.compact();
        extents.compact();
        mappings.compact();
    }

    /** Compares the tables with one another. */
    public void check() {
        extents.check();
        mappings.check(extents);
        for (int extent = 0; extent < extents.capacity(); extent++) {
            final boolean isUsed = extents.number(extent) >= 0 && !extents.isIdle(extent) && !extents.isInHand(extent);
            ConsistencyCheck.expect(
                    !isUsed || (extents.hasCurrent(extent) && !mappings.isEnding(extents.current(extent))),
                    "mapping of an extent in use",
                    extent);
        }
    }
}
