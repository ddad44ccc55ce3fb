package allocator.arena;

import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Repair;
import allocator.arena.compact.PageTable;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where the chunks of a lane get memory: {@link RegionSupply regions} of the upstream allocator, or {@link PageSupply
 * pages} that are mapped where chunks are in use.
 *
 * <p>An abstract method differs in both; a method with a body is overridden by one of them.
 */
abstract sealed class Supply permits RegionSupply, PageSupply {
    /** What {@link #pending} returns if no stream may use the memory. */
    static final long NO_STREAM = PageTable.NO_STREAM;

    static final Repair.Live NOTHING = new Repair.Live(0, 0);

    final Lane lane;
    final Lanes lanes;

    Supply(Lane lane) {
        this.lane = lane;
        lanes = lane.lanes;
    }

    /** Takes a chunk that has become free, or else takes memory and a chunk of it. Without the lane's lock. */
    abstract long allocate(long byteSize, @Nullable SyncStream stream);

    /**
     * Does the same after all lanes were shrunk, for want of memory that they may have again by now. It shrinks them
     * again if so. Without the lane's lock.
     */
    long allocateOfAll(long byteSize, @Nullable SyncStream stream) {
        return allocate(byteSize, stream);
    }

    /**
     * Returns memory in which nothing is live, and reports what was returned and what stays. Returns nothing if it is
     * called from within a call by the arena to its device or to a stream.
     */
    final ShrinkReport shrink() {
        if (lanes.isInDevice()) {
            return report(0, 0);
        }
        synchronized (lanes.shrinkLock) {
            return shrinkAlone();
        }
    }

    /** Waits for the streams that own memory in which nothing is live, and returns it. Under the shrink lock. */
    abstract ShrinkReport shrinkAlone();

    /** Reports a shrink that has released memory of so many regions or extents. */
    final ShrinkReport report(long released, int count) {
        return lane.report().shrunk(released, count, this::staying);
    }

    /** Says what stays, by the reason why: first that with live blocks. Under the lane's lock. */
    abstract List<Held> staying();

    /** Lets all memory leave, as the lane is closed; room was made. Stores only. Under the lane's lock. */
    abstract void leave();

    /** Returns what left and is not among the lane's blocks. A second call tries again. Under the device lock. */
    void giveBack(Failures failures) {}

    /** Compares the tables with one another, and returns the bytes held for chunks. Under the lane's lock. */
    abstract long heldBytes(ConsistencyCheck check);

    /** Returns the largest request that free memory may serve, whatever its stream, in bytes. Under the lane's lock. */
    abstract long largestFree();

    /** Returns the largest request of a stream, or of none, that free memory serves. Under the lane's lock. */
    abstract long largestFree(@Nullable SyncStream stream);

    /** Returns the size that doubling plans next, in bytes; 0 where nothing doubles. Under the lane's lock. */
    long nextRegionBytes() {
        return 0;
    }

    /** Repairs the placement and what follows from it. Returns what is live and counted. Under the lane's lock. */
    Repair.Live repair() {
        return lane.placement.repair();
    }

    /** Returns what is taken from the placement and not counted yet. Under the lane's lock. */
    Repair.Live unfinished() {
        return NOTHING;
    }

    /**
     * Returns a number that rises with each free and whenever work on free memory is known to be done; 0 if that is not
     * counted. Takes the lane's lock.
     */
    long changes() {
        return 0;
    }

    /** Returns the bytes of memory that a shrink would return now, if no stream used it. Under the lane's lock. */
    long idleBytes() {
        return 0;
    }

    /** Returns whether there is memory at the start of a free range of a region. Under the lane's lock. */
    boolean isBacked(long address) {
        return true;
    }

    /**
     * Returns the id of the stream that may still use the memory at the start of a free range, which belongs to no
     * stream and is backed: {@link #NO_STREAM} for none, 0 for several. Under the lane's lock.
     */
    long pending(long address) {
        return NO_STREAM;
    }

    /**
     * Returns up to where a free range, of which the end is given, is backed as its start is, and pending for the same
     * stream. Under the lane's lock.
     */
    long sameBacking(long address, long end) {
        return end;
    }

    /** Returns the counters that only this kind of memory has. Under the lane's lock. */
    List<AllocatorStats.Counter> ownCounters() {
        return List.of();
    }

    /** Gives back Java heap that these tables no longer need. Under the lane's lock. */
    void compact() {}

    /** Adds the streams that may still use what they freed, beside the owners of chunks. Under the lane's lock. */
    void addOwners(Map<Long, SyncStream> owners) {}
}
