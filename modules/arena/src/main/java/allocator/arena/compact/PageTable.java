package allocator.arena.compact;

import allocator.arena.chunk.BackedFit;
import allocator.arena.chunk.ConsistencyCheck;
import allocator.provider.support.HeapSize;
import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which page is mapped where in the range, and which are in use.
 *
 * <p>The range is divided into <em>places</em> of the size of a page, by index. A page may be mapped at several places,
 * and is used through one of them at a time, its <em>current</em> place: that at which it is or was last in use. While
 * no chunk there is live, the page is <em>idle</em>, and may be used through another place once the streams that freed
 * memory at its current place have been waited for. Chunks at one place share its page, whatever their streams: which
 * chunk a stream may use is known from the chunks.
 *
 * <p>Guarded by the arena's lock. Changes are plain stores, so that they do not fail once they have begun; room is made
 * before.
 */
// One class, since its columns are one table, whose entries change together.
public final class PageTable implements BackedFit.Backing {
    /** No page. */
    static final int NONE = -1;

    /** The uses of a page that is about to be released. */
    private static final int LEAVING = Integer.MIN_VALUE;

    private static final int LEAST_GROWTH = 16;

    private final int shift;
    private final double slack;

    /** The first address of the range. */
    private long base;

    /** By place: 0 if no page is mapped, a page plus one, or its complement while that mapping is to be ended. */
    private int[] pageAt = new int[0];

    /** By place: what was freed there. */
    private final LastFrees atPlaces = new LastFrees();

    /** By page: its number in the source. Of a page that does not exist: -1. */
    private long[] numbers = new long[0];

    /** By page: its current place. */
    private int[] places = new int[0];

    /** By page: the live chunks, or parts of them, at its current place. */
    private int[] uses = new int[0];

    /** By page: at how many places it is mapped. */
    private int[] mappings = new int[0];

    /**
     * By page: what was freed at places that were current before. That memory may be elsewhere in the page than what
     * has been used since.
     */
    private final LastFrees earlier = new LastFrees();

    /** By page: the {@link #visit} in which it was last found usable. */
    private long[] visits = new long[0];

    private long visit;

    /** Pages ever taken from the tables. */
    private int used;

    private int pages;
    private int mapped;
    private int idle;

    /** Where the search for an idle page begins. */
    private int hand;

    /** Frees so far. */
    private long frees;

    /** The chunk that is being backed; where none is, the place is {@link #NONE}. */
    private long growing;

    private int growingFrom = NONE;

    /** Its places, counted from its first one, whose pages count as used. */
    private BitSet claimed = new BitSet();

    /**
     * Creates a table without pages.
     *
     * @param pageBytes the size of a page
     * @param slack the part by which the pages may exceed what has been in use at once, before idle ones are moved
     */
    public PageTable(long pageBytes, double slack) {
        shift = Long.numberOfTrailingZeros(pageBytes);
        this.slack = slack;
    }

    void setBase(long address) {
        base = address;
    }

    /** Returns the place of an address. */
    int place(long address) {
        return (int) ((address - base) >>> shift);
    }

    /** Returns the first address of a place. */
    long address(int place) {
        return base + ((long) place << shift);
    }

    /** Makes room for pages at places up to one, and for one more page. */
    void ensureRoom(int lastPlace) {
        if (lastPlace >= pageAt.length) {
            final int length = lastPlace + 1 + Math.max(lastPlace >> 2, LEAST_GROWTH);
            atPlaces.ensureLength(length);
            pageAt = Arrays.copyOf(pageAt, length);
        }
        if (used == numbers.length && pages == used) {
            final int length = used + Math.max(used >> 2, LEAST_GROWTH);
            final int[] morePlaces = Arrays.copyOf(places, length);
            final int[] moreUses = Arrays.copyOf(uses, length);
            final int[] moreMappings = Arrays.copyOf(mappings, length);
            final long[] moreVisits = Arrays.copyOf(visits, length);
            earlier.ensureLength(length);
            numbers = Arrays.copyOf(numbers, length);
            visits = moreVisits;
            mappings = moreMappings;
            uses = moreUses;
            places = morePlaces;
        }
    }

    private int pageAt(int place) {
        return place < pageAt.length ? pageAt[place] - 1 : NONE;
    }

    /**
     * Returns whether a requester may use the page at a place through it. An idle page may be mapped at two places of
     * one chunk: it is usable at the first of them, of those that are visited together.
     */
    private boolean isUsable(int place, @Nullable SyncStream requester) {
        final int page = pageAt(place);
        if (page < 0) {
            return false;
        }
        final int current = places[page];
        final boolean isCurrent = current == place;
        if (uses[page] != 0 ? !isCurrent || uses[page] == LEAVING : visits[page] == visit) {
            return false;
        }
        if (!earlier.isBefore(page, requester) || (!isCurrent && !mayMove(page, current, requester))) {
            return false;
        }
        visits[page] = visit;
        return true;
    }

    /**
     * Returns whether a requester may use an idle page through another place than its current one. Of the streams that
     * are to be waited for then, a page remembers one: where there are two, it stays until one of them is done.
     */
    private boolean mayMove(int page, int current, @Nullable SyncStream requester) {
        final SyncStream last = atPlaces.stream(current);
        final SyncStream before = earlier.stream(page);
        return (last == null || before == null || last.id() == before.id())
                && atPlaces.isBefore(current, requester)
                && earlier.isBefore(page, requester);
    }

    @Override
    public long end() {
        int place = pageAt.length;
        while (place > 0 && pageAt[place - 1] == 0) {
            place--;
        }
        return address(place);
    }

    @Override
    public boolean isBacked(long address, long byteSize, @Nullable SyncStream requester) {
        visit++;
        final int last = place(address + byteSize - 1);
        for (int place = place(address); place <= last; place++) {
            if (!isUsable(place, requester)) {
                return false;
            }
        }
        return true;
    }

    @Override
    public int lacks(long address, long byteSize, @Nullable SyncStream requester) {
        visit++;
        final int last = place(address + byteSize - 1);
        int lacking = 0;
        for (int place = place(address); place <= last; place++) {
            if (!isUsable(place, requester)) {
                lacking++;
                if (pageAt(place) >= 0 && !canBeUnmapped(place)) {
                    return IMPOSSIBLE;
                }
            }
        }
        return lacking;
    }

    /** Returns whether all work through a place is done, and its page is used elsewhere or by nobody. */
    private boolean canBeUnmapped(int place) {
        final int page = pageAt(place);
        return atPlaces.isNone(place) && (places[page] != place || uses[page] == 0) && uses[page] != LEAVING;
    }

    @Override
    public void taken(long address, long byteSize) {
        final int last = (int) ((address + byteSize - 1 - base) >>> shift);
        for (int place = (int) ((address - base) >>> shift); place <= last; place++) {
            use(pageAt[place] - 1, place);
        }
    }

    @Override
    public void freed(long address, long byteSize, @Nullable SyncStream stream, long stamp) {
        frees++;
        final int last = (int) ((address + byteSize - 1 - base) >>> shift);
        for (int place = (int) ((address - base) >>> shift); place <= last; place++) {
            final int page = pageAt[place] - 1;
            if (--uses[page] == 0) {
                idle++;
            }
            atPlaces.record(place, stream, stamp, frees);
        }
    }

    @Override
    public boolean unbind(SyncStream stream) {
        earlier.forget(stream);
        return atPlaces.forget(stream);
    }

    /** Forgets the streams of frees up to one: their work has been waited for. */
    void unbindUpTo(long free) {
        atPlaces.forgetUpTo(free);
        earlier.forgetUpTo(free);
    }

    /** Returns how many frees there have been. */
    long frees() {
        return frees;
    }

    @Override
    public void clear() {
        atPlaces.clear();
        idle = 0;
        for (int page = 0; page < used; page++) {
            if (numbers[page] >= 0 && uses[page] != LEAVING) {
                uses[page] = 0;
                idle++;
            }
        }
        if (growingFrom != NONE) {
            for (int place = claimed.nextSetBit(0); place >= 0; place = claimed.nextSetBit(place + 1)) {
                use(pageOf(growingFrom + place), growingFrom + place);
            }
        }
    }

    @Override
    public void recount(long address, long byteSize, boolean isLive, @Nullable SyncStream stream, long stamp) {
        final int first = place(address);
        final int last = Math.min(place(address + byteSize - 1), pageAt.length - 1);
        if (isLive && !isGrowing(address)) {
            for (int place = first; place <= last; place++) {
                use(pageOf(place), place);
            }
        } else if (!isLive && stream != null) {
            for (int place = first; place <= last; place++) {
                atPlaces.record(place, stream, stamp, frees);
            }
        }
    }

    private int pageOf(int place) {
        return pageAt[place] - 1;
    }

    /** Counts a use of a page through a place. */
    private void use(int page, int place) {
        final int before = places[page];
        if (before != place) {
            earlier.record(page, atPlaces, before);
        }
        places[page] = place;
        if (uses[page]++ == 0) {
            idle--;
        }
    }

    /**
     * Begins to back a chunk: uses those of its pages that the requester may use where they are, and begins to end the
     * mappings that are in the way. Begun, it fails only where the stack ends, before {@link #endGrowth} has any
     * effect.
     *
     * @param claimed has room for the chunk's places
     */
    void beginGrowth(long address, long byteSize, @Nullable SyncStream requester, BitSet claimed) {
        final int first = place(address);
        visit++;
        final int last = place(address + byteSize - 1);
        growing = address;
        growingFrom = first;
        this.claimed = claimed;
        for (int place = first; place <= last; place++) {
            if (isUsable(place, requester)) {
                claimed.set(place - first);
                use(pageOf(place), place);
            } else {
                beginUnmap(place);
            }
        }
    }

    private boolean isGrowing(long address) {
        return growingFrom != NONE && growing == address;
    }

    /** Notes that no chunk is being backed any more. */
    void endGrowth() {
        growingFrom = NONE;
    }

    /** Returns the first place of the chunk that is not backed, from one on. */
    int nextUnbacked(int place) {
        return growingFrom + claimed.nextClearBit(place - growingFrom);
    }

    /** Returns whether a mapping at a place is to be ended before another one can be made. */
    boolean isToBeUnmapped(int place) {
        return pageAt[place] != 0;
    }

    /** Begins to end the mapping at a place: its page is not used through it any more. */
    void beginUnmap(int place) {
        if (pageAt[place] > 0) {
            pageAt[place] = -pageAt[place];
        }
    }

    /** Notes that no page is mapped at a place. */
    void endUnmap(int place) {
        mappings[-pageAt[place] - 1]--;
        pageAt[place] = 0;
        mapped--;
    }

    /** Notes that a page may be mapped at a place, where it is not used. */
    void mappingFailed(int place, int page) {
        pageAt[place] = -(page + 1);
        mappings[page]++;
        mapped++;
    }

    /** Notes that a page is mapped at a place of the chunk that is being backed, and uses it there. */
    void claimMapped(int place, int page) {
        pageAt[place] = page + 1;
        mappings[page]++;
        mapped++;
        use(page, place);
        claimed.set(place - growingFrom);
    }

    /**
     * Ends the uses of the chunk that is being backed, as if the requester had used and freed it: what the pages were
     * used for before, it has come after.
     */
    void abandonGrowth(@Nullable SyncStream requester, long stamp) {
        final int from = growingFrom;
        for (int place = from; place < pageAt.length; place++) {
            if (claimed.get(place - from)) {
                freed(address(place), 1, requester, stamp);
            }
        }
        growingFrom = NONE;
    }

    /** Adds a page, which is idle and mapped nowhere. Call {@link #ensureRoom} before. */
    int add(long number, int place) {
        int page = used;
        if (pages < used) {
            page = 0;
            while (numbers[page] >= 0) {
                page++;
            }
        } else {
            used++;
        }
        numbers[page] = number;
        uses[page] = 0;
        mappings[page] = 0;
        earlier.clear(page);
        places[page] = place;
        pages++;
        idle++;
        return page;
    }

    /**
     * Returns an idle page that a requester may use at any place, if possible one that is mapped at few; {@link #NONE}
     * if there is none.
     */
    int findIdle(@Nullable SyncStream requester) {
        int best = NONE;
        for (int i = 0; i < used && idle > 0; i++) {
            final int page = hand < used ? hand : 0;
            hand = page + 1;
            if (numbers[page] >= 0
                    && uses[page] == 0
                    && (best == NONE || mappings[page] < mappings[best])
                    && mayMove(page, places[page], requester)) {
                best = page;
                if (mappings[page] <= 1) {
                    return best;
                }
            }
        }
        return best;
    }

    /** Returns the number of a page in the source. */
    long number(int page) {
        return numbers[page];
    }

    /** Returns whether memory above the slack may be taken, so that a page is created and none is moved. */
    boolean isWithinSlack(long bytesInUse) {
        return ((long) (pages + 1) << shift) <= bytesInUse * (1 + slack);
    }

    /**
     * Adds the streams that may still use free memory.
     *
     * @return whether these are all; otherwise the owners of the chunks are to be added
     */
    boolean addOwners(Map<Long, SyncStream> owners) {
        earlier.addTo(owners);
        return atPlaces.addTo(owners);
    }

    /** Marks the idle pages that no stream may still use as leaving, and returns how many there are. */
    int leave() {
        int leaving = 0;
        for (int page = 0; page < used; page++) {
            if (numbers[page] >= 0 && uses[page] == 0 && isReleasable(page)) {
                uses[page] = LEAVING;
                idle--;
                leaving++;
            }
        }
        return leaving;
    }

    private boolean isReleasable(int page) {
        return earlier.isNone(page) && atPlaces.isNone(places[page]);
    }

    /** Makes all pages leave, whatever uses them: the arena is closed. */
    void leaveAll() {
        for (int page = 0; page < used; page++) {
            uses[page] = LEAVING;
        }
        idle = 0;
    }

    /** Returns whether a place has a mapping that a shrink ends: of a page that leaves, or one that is not in use. */
    boolean isMappingLeaving(int place) {
        if (pageAt[place] <= 0) {
            return pageAt[place] < 0;
        }
        final int page = pageOf(place);
        return uses[page] == LEAVING || (places[page] != place && atPlaces.isNone(place));
    }

    /** Returns how many places there may be mappings at. */
    int placeCount() {
        return pageAt.length;
    }

    /** Returns how many pages there have been at once at most. */
    int pageCapacity() {
        return used;
    }

    /** Returns whether a page leaves and is mapped nowhere. */
    boolean isReadyToLeave(int page) {
        return numbers[page] >= 0 && uses[page] == LEAVING && mappings[page] == 0;
    }

    /** Lets a page that could not be released stay, idle. */
    void stay(int page) {
        if (numbers[page] >= 0 && uses[page] == LEAVING) {
            uses[page] = 0;
            idle++;
        }
    }

    /** Removes a page that was released. */
    void remove(int page) {
        numbers[page] = NONE;
        uses[page] = 0;
        pages--;
        while (used > 0 && numbers[used - 1] < 0) {
            used--;
        }
    }

    /** Returns the number of pages. */
    int pages() {
        return pages;
    }

    /** Returns the number of pages that nothing uses. */
    int idle() {
        return idle;
    }

    /** Returns the number of places at which a page is mapped. */
    int mapped() {
        return mapped;
    }

    /** Returns the bytes of Java heap that the tables take. */
    long bookkeepingBytes() {
        return HeapSize.ofInts(pageAt.length)
                + atPlaces.bookkeepingBytes()
                + earlier.bookkeepingBytes()
                + 2 * HeapSize.ofLongs(numbers.length)
                + 3 * HeapSize.ofInts(places.length);
    }

    /** Compares the tables with one another. */
    void check() {
        int existing = 0;
        int unused = 0;
        final int[] seen = new int[used];
        int mappedPlaces = 0;
        for (final int entry : pageAt) {
            if (entry != 0) {
                seen[Math.abs(entry) - 1]++;
                mappedPlaces++;
            }
        }
        for (int page = 0; page < used; page++) {
            if (numbers[page] >= 0) {
                existing++;
                unused += uses[page] == 0 ? 1 : 0;
                ConsistencyCheck.expect(mappings[page] == seen[page], "mappings of page", page);
                ConsistencyCheck.expect(
                        uses[page] <= 0 || pageAt[places[page]] == page + 1, "mapping of a page in use", page);
            } else {
                ConsistencyCheck.expect(seen[page] == 0, "mapping of no page", page);
            }
        }
        ConsistencyCheck.expect(pages == existing, "pages", pages);
        ConsistencyCheck.expect(idle == unused, "idle pages", idle);
        ConsistencyCheck.expect(mapped == mappedPlaces, "mapped places", mapped);
    }
}
