package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.plan.PlannedMemory;
import allocator.arena.upstream.StreamWork;
import allocator.provider.support.StackReserve;
import allocator.provider.support.event.DevicePart;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a lane's plans: one region beside the others, as high as the highest plan. It is taken when the first
 * planned call comes, and returned by a shrink, by a close, and where a request lacks memory, once nothing in it is
 * live. The main lane has one if the configuration has plans.
 */
final class LanePlan {
    private static final Logger LOG = System.getLogger(BfcArena.class.getName());

    /** What was logged: arenas that are created in turn, as by a replay, differ from a plan in the same way. */
    private static final Set<String> LOGGED = ConcurrentHashMap.newKeySet();

    /** The most different warnings of a process; it is the end of them. */
    private static final int MOST_LOGGED = 100;

    /** Guarded by the lane's lock. */
    final PlannedMemory memory;

    private final Lane lane;
    private final Lanes lanes;

    /** Whether the latest call under the lock failed, so that its block is to be freed. */
    boolean isTakenInVain;

    /** Whether there is something to log. Written under the lock. */
    volatile boolean hasNews;

    private boolean hasWarned;
    private boolean hasObtained;

    LanePlan(Lane lane, Lanes lanes, ArenaPlans plans) {
        this.lane = lane;
        this.lanes = lanes;
        memory = new PlannedMemory(plans.table());
    }

    /** Takes the block of a planned call; {@link Placement#NO_ADDRESS} if there is none. Under the lane's lock. */
    long take(long byteSize, @Nullable SyncStream stream) {
        final long address = memory.take(byteSize, stream, lane.counters.inUseInChunks());
        if (address != PlannedMemory.NO_ADDRESS) {
            lane.counters.allocated(Granules.roundUp(byteSize), byteSize);
            assert lane.passesSampledCheck();
            lane.counters.allocs++;
        }
        return address;
    }

    /**
     * Takes a free chunk for a call that has no planned block. Returns {@link Placement#NO_ADDRESS} if there is none,
     * or {@link #wantsMemory} is true. Under the lane's lock.
     */
    long takeUnplanned(long byteSize, @Nullable SyncStream stream) {
        if (memory.mismatches() > 0 && !hasWarned) {
            hasWarned = true;
            hasNews = true;
        }
        return memory.wantsMemory() ? Placement.NO_ADDRESS : lane.tryTake(byteSize, stream);
    }

    /** Returns whether the latest call needs the memory first. Under the lane's lock. */
    boolean wantsMemory() {
        return memory.wantsMemory();
    }

    /** Returns whether the memory has been taken before: it may be the first region. Under the lane's lock. */
    boolean hasObtained() {
        return hasObtained;
    }

    /** Frees the live block at an address of the memory. Under the lane's lock. */
    void free(long address) {
        final int place = memory.placeAt(address);
        if (place < 0) {
            throw invalidFree(address);
        }
        final long byteSize = memory.byteSize(place);
        final long requested = memory.requested(place);
        lane.placement.step = Placement.BEGUN;
        memory.free(place);
        lane.placement.step = Placement.FREED;
        lane.counters.freed(byteSize, requested);
        assert lane.passesSampledCheck();
        lane.placement.step = Placement.WHOLE;
    }

    /**
     * Returns the exception for a free of an address of the memory at which no live block begins. Under the lane's
     * lock.
     */
    InvalidFreeException invalidFree(long address) {
        final int place = memory.placeContaining(address);
        final String where = "the plan's memory of " + memory.height() + " bytes at 0x"
                + Long.toHexString(memory.base()) + " of " + lane.info;
        if (place >= 0) {
            return new InteriorAddressException(
                    address,
                    "it lies " + (address - memory.address(place)) + " bytes inside a live allocation of "
                            + memory.byteSize(place) + " bytes in " + where);
        }
        return Granules.isWhole(address - memory.base())
                ? new DoubleFreeException(address, "it was freed already; it lies in " + where)
                : new ForeignAddressException(address, "it was never allocated; it lies in " + where);
    }

    /** Completes or undoes what a call left half done. Under the lane's lock. */
    void repair() {
        if (isTakenInVain) {
            memory.undo();
            isTakenInVain = false;
        }
    }

    /** Takes the memory of the plans, unless there is none: then the run is for the arena to serve. */
    void obtain() {
        StackReserve.touch();
        lanes.lockDevice();
        try {
            if (lane.locked(this::isToBeObtained)) {
                obtainUpstream();
            }
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    private boolean isToBeObtained() {
        if (memory.base() != PlannedMemory.NO_ADDRESS) {
            return false;
        }
        if (memory.height() > lanes.heldLimit.available()) {
            memory.unavailable();
            return false;
        }
        return true;
    }

    private void obtainUpstream() {
        final long height = memory.height();
        final long base;
        try {
            base = lanes.upstream.take(DevicePart.REGION, height);
        } catch (OutOfMemoryException e) {
            lane.locked(() -> {
                memory.unavailable();
                return true;
            });
            return;
        }
        boolean isAttached = false;
        try {
            lane.lock.lock();
            try {
                lane.begin();
                memory.attach(base);
                hasObtained = true;
                isAttached = true;
                lane.counters.extended(height);
            } finally {
                lane.lock.unlock();
            }
        } finally {
            if (!isAttached) {
                lanes.upstream.giveBack(base, height, DevicePart.UNUSED);
            }
        }
    }

    /**
     * Returns the memory, if nothing in it is live, after waiting for the streams that may still use it; nothing if
     * called from within a call by the arena to its upstream allocator or to a stream.
     *
     * @param isShort whether the memory is needed elsewhere
     * @return the bytes returned
     * @throws DeviceException if waiting for a stream fails
     */
    long giveBack(boolean isShort) {
        StackReserve.touch();
        if (lanes.isInDevice()) {
            return 0;
        }
        lanes.shrinkLock.lock();
        try {
            final Map<Long, SyncStream> owners = new LinkedHashMap<>();
            final long frees = lane.locked(() -> idleSince(owners, isShort));
            if (frees < 0) {
                return 0;
            }
            owners.values().removeIf(StreamWork::await);
            return giveBack(frees, owners, isShort);
        } finally {
            lanes.shrinkLock.unlock();
        }
    }

    private long idleSince(Map<Long, SyncStream> owners, boolean isShort) {
        if (memory.base() == PlannedMemory.NO_ADDRESS && !isShort) {
            memory.restart();
        }
        if (memory.live() > 0 || memory.base() == PlannedMemory.NO_ADDRESS) {
            return -1;
        }
        memory.addOwners(owners);
        return memory.frees();
    }

    private long giveBack(long frees, Map<Long, SyncStream> unfinished, boolean isShort) {
        lanes.deviceLock.lock();
        try {
            final long base = lane.locked(() -> detach(frees, unfinished, isShort));
            if (base == PlannedMemory.NO_ADDRESS) {
                return 0;
            }
            return lane.blocks.giveBack(base, DevicePart.REGION) == null ? memory.height() : 0;
        } finally {
            lanes.deviceLock.unlock();
        }
    }

    private long detach(long frees, Map<Long, SyncStream> unfinished, boolean isShort) {
        final long base = memory.base();
        if (memory.live() > 0 || memory.frees() != frees || memory.hasOwnerAmong(unfinished)) {
            return PlannedMemory.NO_ADDRESS;
        }
        lane.blocks.expect(1);
        memory.detach(isShort);
        lane.counters.detached();
        lane.blocks.leaves(base, memory.height());
        return base;
    }

    /** Lets the memory leave, live or not, as the lane is closed; room was made. Under the lane's lock. */
    void leave() {
        if (memory.base() != PlannedMemory.NO_ADDRESS) {
            lane.blocks.leaves(memory.base(), memory.height());
        }
    }

    /** Returns whether a warning is to be logged: no arena of the process has logged it. */
    static boolean isNew(String mismatch) {
        return LOGGED.size() < MOST_LOGGED && LOGGED.add(mismatch);
    }

    /**
     * Logs the first mismatch, if that is possible: the caller's memory comes first. One that another arena of the
     * process has logged is not logged again.
     */
    void logNews() {
        hasNews = false;
        try {
            final String mismatch = lane.info + ": " + lane.<String>locked(memory::describeMismatch);
            if (isNew(mismatch)) {
                LOG.log(
                        Level.WARNING,
                        "{0}. The rest of the run is served without the plan; other mismatches are only counted",
                        mismatch);
            }
        } catch (Throwable e) {
            // A logger may throw anything, and so may the end of the Java heap.
        }
    }
}
