package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.arena.chunk.Repair;
import allocator.arena.compact.PageTable;
import allocator.spi.DeviceException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.BitSet;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Backs requests for which no backed chunk is free: chooses a chunk, and creates or moves the extents that it lacks.
 *
 * <p>The chunk is taken first, so that no other thread uses its addresses. Then its pages are used where they are,
 * mapped from elsewhere, or created, one extent after the other; the device is called without the arena's lock. If that
 * fails, the chunk is free again. The extents made for it stay, idle.
 */
// One class, since an attempt begins, backs and abandons one chunk in fields that all its steps share.
final class PageGrowth {
    private static final long NO_ADDRESS = BestFit.NO_ADDRESS;
    private static final int NONE = PageTable.NONE;

    /** Instead of an address: there are enough pages, but some cannot be used now, or none at the free addresses. */
    private static final long NOT_NOW = -1;

    /**
     * How many times their memory extents may be mapped, before mappings of no use are ended. Fewer would end mappings
     * that a program needs again when it repeats what it has done.
     */
    private static final int MOST_MAPPED = 2;

    /** How many mappings of no use a request ends at most. */
    private static final int MOST_ENDED = 4;

    private final PageSupply supply;
    private final Lane lane;
    private final Lanes lanes;
    private final PageTable table;
    final ExtentCalls calls;
    final ExtentChoice choice;
    final Takeover takeover;

    /** A chunk that is taken and not counted yet, as not all of it is backed. Guarded by the lane's lock. */
    Repair.Live unfinished = Supply.NOTHING;

    /** Whether a chunk is being taken to be backed. */
    private boolean isBeginning;

    /** Whether there are addresses for the current attempt, as far as is known. Guarded by the device lock. */
    private boolean hasFit;

    /** Whether the current attempt has found no chunk that lacks as little as new addresses. */
    private boolean wantsAddresses;

    /** Why there are no more addresses, if there were to be. Guarded by the device lock. */
    private @Nullable OutOfMemoryException noAddresses;

    PageGrowth(PageSupply supply) {
        this.supply = supply;
        lane = supply.lane;
        lanes = supply.lanes;
        table = supply.table;
        calls = new ExtentCalls(supply);
        choice = new ExtentChoice(supply);
        takeover = new Takeover(supply, calls, choice);
    }

    /** Allocates, if there is no other way with calls of the device. */
    long allocate(long byteSize, @Nullable SyncStream stream) {
        // Where the device is busy, a chunk that is backed is worth a search.
        final boolean isBusy = lanes.deviceLock.isBusy() || lanes.isInDevice();
        final long backed = lane.lockedLong(() -> isBusy ? takeBacked(byteSize, stream) : NO_ADDRESS);
        if (backed != NO_ADDRESS) {
            return backed;
        }
        lanes.requireOutsideDevice();
        final long before = lane.lockedLong(table::pages);
        try {
            final long address = allocateOnce(byteSize, stream, false, false);
            if (isAddress(address)) {
                return address;
            }
        } catch (OutOfMemoryException e) {
            // Idle extents that reach beyond the chunk may hold what it lacks.
        }
        return allocateExactly(byteSize, stream, false, before);
    }

    /** Allocates after all lanes were shrunk: see {@link Supply#allocateOfAll}. */
    long allocateOfAll(long byteSize, @Nullable SyncStream stream) {
        lanes.requireOutsideDevice();
        return allocateExactly(byteSize, stream, true, lane.lockedLong(table::pages));
    }

    private static boolean isAddress(long address) {
        return address != NO_ADDRESS && address != NOT_NOW;
    }

    /**
     * Allocates without the use of a part of an idle extent, and waits for the streams that may still use free memory
     * where that is needed.
     *
     * <p>While a thread waits, others may take what is free, and free it again. So it waits again as long as there are
     * enough pages, live ones apart. Each time but the first another thread has freed memory or ended a run since the
     * last attempt: a thread alone waits once, and of several one always goes on. Where the source has no room for
     * another mapping, it is tried once more after those that nothing uses have ended.
     *
     * @param isOfAll whether all lanes were shrunk, and the pages of all count: they are shrunk again then
     * @param before how many pages the request has found, and leaves if it fails
     */
    private long allocateExactly(long byteSize, @Nullable SyncStream stream, boolean isOfAll, long before) {
        boolean isLast = isOfAll;
        boolean hasEndedMappings = false;
        while (true) {
            final long changes = changes(isOfAll);
            long address = NO_ADDRESS;
            OutOfMemoryException shortage = null;
            try {
                address = allocateOnce(byteSize, stream, true, isOfAll);
                if (isAddress(address)) {
                    return address;
                }
            } catch (OutOfMemoryException e) {
                shortage = e;
                if (!hasEndedMappings && supply.endsIdleMappings()) {
                    hasEndedMappings = true;
                    continue;
                }
            }
            final boolean isHopeless = isLast && address != NOT_NOW;
            // Without anything to wait for, there may have been until now.
            if (isHopeless || (!makesRoom(isOfAll) && changes == changes(isOfAll))) {
                throw failed(byteSize, stream, shortage, before);
            }
            isLast = true;
            hasEndedMappings = false;
        }
    }

    private OutOfMemoryException failed(
            long byteSize, @Nullable SyncStream stream, @Nullable OutOfMemoryException thrown, long before) {
        final OutOfMemoryException ofAddresses = noAddresses;
        if (thrown == null && ofAddresses != null) {
            supply.releaseDownTo(before);
            return lane.report().pagesFailed(byteSize, stream, ofAddresses, true);
        }
        final OutOfMemoryException shortage = thrown == null ? lane.locked(() -> choice.shortage(byteSize)) : thrown;
        final boolean isKnown = !supply.releaseDownTo(before); // what the device has left
        return lane.report().pagesFailed(byteSize, stream, isKnown ? shortage : choice.ofUnknown(shortage), false);
    }

    private long changes(boolean isOfAll) {
        return isOfAll ? lanes.changes() : lane.lockedLong(table.streams::changes);
    }

    /** Waits for streams, and returns whether there may be more room after that. */
    private boolean makesRoom(boolean isOfAll) {
        return isOfAll ? lanes.shrink().bytesReleased() > 0 : supply.awaitOwners();
    }

    /**
     * Allocates, without a wait.
     *
     * @return the address; {@link #NO_ADDRESS} if there are too few pages, {@link #NOT_NOW} if there are enough
     * @throws OutOfMemoryException if the source has no room for a mapping
     */
    private long allocateOnce(long byteSize, @Nullable SyncStream stream, boolean isExact, boolean isOfAll) {
        synchronized (lanes.deviceLock) {
            lanes.deviceLock.setBusy(true);
            try {
                return allocateInDevice(byteSize, stream, isExact, isOfAll);
            } finally {
                lanes.deviceLock.setBusy(false);
            }
        }
    }

    private long allocateInDevice(long byteSize, @Nullable SyncStream stream, boolean isExact, boolean isOfAll) {
        endUselessMappings();
        noAddresses = null;
        final long address = takeWithAddresses(byteSize, stream, isExact);
        if (!table.growing.isActive()) {
            return address == NO_ADDRESS ? lacking(byteSize, isOfAll) : address;
        }
        boolean isBacked = false;
        try {
            isBacked = back(stream);
            if (isBacked) {
                lane.locked(() -> {
                    supply.placement.step = supply.placement.liveChunk(region(address), address);
                    table.growing.end();
                    unfinished = Supply.NOTHING;
                    lane.allocated(Granules.roundUp(byteSize), byteSize);
                    return true;
                });
            }
        } finally {
            if (!isBacked) {
                lane.locked(this::abandonLeft);
            }
        }
        return isBacked ? address : lacking(byteSize, isOfAll);
    }

    /**
     * Takes a chunk that is backed, or begins to back one; where new addresses would lack less, among those. Under the
     * device lock. Returns its address, {@link #NO_ADDRESS} if no chunk can be backed now.
     */
    private long takeWithAddresses(long byteSize, @Nullable SyncStream stream, boolean isExact) {
        if (supply.ranges.mayAdd(byteSize)) {
            final long pages = (byteSize + supply.pageBytes - 1) / supply.pageBytes;
            final int most = (int) Math.min(pages + 1, PageTable.IMPOSSIBLE);
            final long address = lane.lockedLong(() -> take(byteSize, stream, isExact, most));
            if (address != NO_ADDRESS || !wantsAddresses) {
                return address;
            }
            try {
                supply.ranges.add(byteSize);
            } catch (OutOfMemoryException e) {
                noAddresses = e;
            }
        }
        final long address = lane.lockedLong(() -> take(byteSize, stream, isExact, PageTable.IMPOSSIBLE));
        if (address == NO_ADDRESS && wantsAddresses && noAddresses == null) {
            noAddresses = supply.ranges.allInUse(byteSize);
        }
        return address;
    }

    /**
     * Takes a chunk that is backed, or begins to back one. Under both locks.
     *
     * @param most the most pages that it may lack
     * @return its address, {@link #NO_ADDRESS} if no chunk can be backed now
     */
    private long take(long byteSize, @Nullable SyncStream stream, boolean isExact, int most) {
        abandonLeft();
        choice.begin();
        hasFit = true;
        wantsAddresses = false;
        final long bytes = Granules.roundUp(byteSize);
        // At both ends it may share a page with others.
        final long leastNeeded = bytes - (table.idle() + 2) * supply.pageBytes;
        final boolean isPossible = bytes <= lanes.heldLimit.limit() && leastNeeded <= lanes.heldLimit.available();
        final long backed = isExact || !isPossible ? takeBacked(byteSize, stream) : NO_ADDRESS;
        if (backed != NO_ADDRESS || !isPossible) {
            return backed;
        }
        hasFit = bytes <= supply.ranges.largest;
        final long address = hasFit ? begin(byteSize, stream, isExact, most) : NO_ADDRESS;
        wantsAddresses = address == NO_ADDRESS;
        return address;
    }

    /**
     * Returns {@link #NOT_NOW} if there are addresses, and as many pages as a request may need that shares none with
     * others, where what waits for streams is free; otherwise {@link #NO_ADDRESS}. Under the device lock.
     */
    private long lacking(long byteSize, boolean isOfAll) {
        final long bytes = Granules.roundUp(byteSize);
        if (!hasFit) {
            return NO_ADDRESS;
        }
        final long needed = Math.ceilDiv(bytes, supply.pageBytes) + 1 - choice.creatable();
        final boolean isEnough =
                needed <= lane.lockedLong(table::idle) || (isOfAll && needed <= lanes.idleBytes() / supply.pageBytes);
        return isEnough ? NOT_NOW : NO_ADDRESS;
    }

    /** Takes a chunk that is backed, wherever it is. Under the arena's lock. */
    private long takeBacked(long byteSize, @Nullable SyncStream stream) {
        supply.placement.unbindEnded();
        final long granules = Granules.ceil(byteSize);
        final long address = supply.placement.takeBacked(granules, byteSize, stream);
        if (address != NO_ADDRESS) {
            lane.allocated(Granules.toBytes(granules), byteSize);
        }
        return address;
    }

    /** Takes the chunk that lacks the fewest pages, and begins to back it if it lacks any. Under both locks. */
    private long begin(long byteSize, @Nullable SyncStream stream, boolean isExact, int most) {
        supply.placement.unbindEnded();
        final long bytes = Granules.roundUp(byteSize);
        final BitSet claimed = new BitSet((int) (bytes / supply.pageBytes) + 2);
        table.setExact(isExact);
        isBeginning = true;
        final long address = supply.placement.takeLeastLacking(Granules.floor(bytes), byteSize, stream, most);
        if (address == NO_ADDRESS || supply.placement.isBacked()) {
            isBeginning = false;
            table.setExact(false);
            hasFit = supply.placement.hasFit();
            if (address != NO_ADDRESS) {
                lane.allocated(bytes, byteSize);
            }
            return address;
        }
        unfinished = new Repair.Live(bytes, byteSize);
        table.ensureRoom(table.place(address + bytes - 1));
        table.beginGrowth(address, bytes, stream, claimed);
        table.setExact(false);
        supply.placement.step = BestFit.BEGUN; // from here on, the chunk is freed when the growth is abandoned
        isBeginning = false;
        return address;
    }

    /** Forgets a chunk that was being taken when that failed; the placement frees it again. Under the arena's lock. */
    void cancel() {
        if (isBeginning) {
            isBeginning = false;
            unfinished = Supply.NOTHING;
            table.setExact(false);
            table.growing.end();
        }
    }

    /** Backs all places of the chunk; returns false if there are too few pages that can be used now. */
    private boolean back(@Nullable SyncStream stream) {
        for (int place = nextUnbacked(); place != NONE; place = nextUnbacked()) {
            final int from = place;
            int extent = NONE;
            while (extent == NONE) {
                final ExtentChoice.Next next =
                        lane.locked(() -> choice.choose(from, lane.counters.peakInChunks(unfinished.inUse()), stream));
                if (next == null) {
                    return false;
                }
                if (next.isReleased()) {
                    calls.release(next.extent());
                } else {
                    extent = next.extent() == NONE ? create(next) : next.extent();
                }
            }
            endMappingsAt(place, extent);
            calls.map(place, extent);
        }
        return true;
    }

    private int nextUnbacked() {
        return (int) lane.lockedLong(table.growing::nextUnclaimed);
    }

    /** Creates an extent in hand, or takes one over; returns {@link #NONE} if the device has no memory for it. */
    private int create(ExtentChoice.Next next) {
        try {
            final int taken = takeover.take(next.pages(), next.space());
            if (taken != NONE) {
                return taken;
            }
        } catch (DeviceException e) {
            // It stays where it is. This request may do without it.
        }
        try {
            return calls.create(next.pages());
        } catch (OutOfMemoryException e) {
            choice.setTooLarge(next.pages(), e);
            return NONE;
        }
    }

    /** Ends the mappings that are in the way of an extent. */
    private void endMappingsAt(int place, int extent) {
        while (true) {
            final int mapping = (int) lane.lockedLong(() -> table.mappings.within(place, table.extents.size(extent)));
            if (mapping == NONE) {
                return;
            }
            calls.unmap(mapping);
        }
    }

    /** Ends a few of the mappings through which nothing is in use, if there are many. */
    private void endUselessMappings() {
        for (int i = 0; i < MOST_ENDED; i++) {
            final int mapping = lane.locked(() -> hasManyMappings() ? table.beginUnmapUseless() : NONE);
            if (mapping == NONE) {
                return;
            }
            calls.unmap(mapping);
        }
    }

    private boolean hasManyMappings() {
        return table.mappings.mappedPlaces() > (long) MOST_MAPPED * table.pages();
    }

    /**
     * Frees a chunk that was to be backed, if there is one: backing it has failed, and perhaps an earlier call of this
     * method as well. Under both locks. Returns whether there was one.
     */
    boolean abandonLeft() {
        if (!table.growing.isActive()) {
            return false;
        }
        final Region range = region(table.growing.address());
        final int chunk = supply.placement.liveChunk(range, table.growing.address());
        supply.placement.prepareFree();
        table.extents.putBackAll();
        table.abandonGrowth();
        supply.placement.freeUnbacked(range, chunk, supply.placement.granules(range, chunk));
        unfinished = Supply.NOTHING;
        return true;
    }

    private Region region(long address) {
        return Objects.requireNonNull(supply.placement.regions().find(address));
    }
}
