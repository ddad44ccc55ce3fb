package allocator.arena.plan;

import allocator.arena.chunk.Granules;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * One span of memory whose blocks lie where plans have them. It serves calls that come in a plan's order with a plan's
 * sizes, by comparison alone; whatever else comes is for others to serve.
 *
 * <p>Not safe for use by several threads, apart from {@link #contains} and {@link PlanCourse#freedByOthers}. Takes no
 * Java heap after its creation, apart from descriptions. A change that ends half way, as where the stack ends, breaks
 * the plan: from then on others serve all calls, frees are not checked, and the memory stays until it is closed.
 */
final class PlannedMemory {
    /** No memory, or no block. */
    static final long NO_ADDRESS = 0;

    /** Instead of an address: the call is planned, but there is no memory yet. */
    static final long WANTED = 1;

    /** The calls of one run that may find their block's bytes in use; then the run leaves the plan. */
    private static final int MOST_BUSY = 64;

    /** How many runs without memory pass at most until it is asked for again. */
    private static final int MOST_RUNS_WAITED = 1023;

    final PlanTable table;
    final PlannedBlocks blocks;
    final PlanCourse course;
    private final MemoryInfo info;

    /** Read without a lock: it changes only while no block is live. */
    private volatile long base = NO_ADDRESS;

    /** The first and last store of every change: a change that finds it true comes after one that broke the plan. */
    private boolean isChanging;

    /** How many runs are to pass until memory is asked for again, and how many passed the last time. */
    private int runsToWait;

    private int runsWaited;

    private long busyCalls;
    private long runOfBusyCalls;
    private int busyCallsOfRun;

    /** How often the memory came or went. */
    private long moves;

    PlannedMemory(PlanTable table, MemoryInfo info) {
        this.table = table;
        this.info = info;
        blocks = new PlannedBlocks(table, info.location());
        course = new PlanCourse(table, blocks);
    }

    private boolean beginChange() {
        final boolean isWhole = !isChanging;
        isChanging = true;
        return isWhole;
    }

    /**
     * Takes the block of a call, if the call is planned and the block's bytes are free for the requester.
     *
     * @param byteSize the size of the request, above zero
     * @param stream the requester, {@code null} for no stream
     * @return the address; {@link #NO_ADDRESS} if others are to serve the call, {@link #WANTED} if the memory is to be
     *     {@linkplain #attach attached} first, or declared {@linkplain #unavailable}
     */
    long take(long byteSize, @Nullable SyncStream stream) {
        if (!beginChange()) {
            return NO_ADDRESS;
        }
        final long address = place(byteSize, stream);
        if (address == NO_ADDRESS) {
            course.handOn();
        }
        isChanging = false;
        return address;
    }

    private long place(long byteSize, @Nullable SyncStream stream) {
        final int block = course.next(Granules.roundUp(byteSize));
        if (block == PlanCourse.NONE) {
            return NO_ADDRESS;
        }
        final long start = base;
        if (start == NO_ADDRESS) {
            if (runsToWait == 0) {
                return WANTED;
            }
            runsToWait--;
            course.giveUp();
            return NO_ADDRESS;
        }
        course.advance();
        if (blocks.isClear(block, stream)) {
            return start + blocks.place(block, byteSize);
        }
        countBusy();
        return NO_ADDRESS;
    }

    /** Counts a call that others serve, as its block's bytes are in use; after too many of them the run is theirs. */
    private void countBusy() {
        busyCalls++;
        if (runOfBusyCalls != course.runs()) {
            runOfBusyCalls = course.runs();
            busyCallsOfRun = 0;
        }
        if (++busyCallsOfRun > MOST_BUSY || blocks.isCrowded()) {
            course.giveUp();
        }
    }

    /** Enters the memory. */
    void attach(long address) {
        base = address;
        moves++;
        runsToWait = 0;
        runsWaited = 0;
    }

    /** Records that there is no memory: this run and more and more of the next ones are for others to serve. */
    void unavailable() {
        runsWaited = Math.min(2 * runsWaited + 1, MOST_RUNS_WAITED);
        runsToWait = runsWaited;
        course.giveUp();
    }

    /**
     * Forgets the memory, which is returned after all work on it, if nothing in it is live.
     *
     * @param frees how many blocks had been freed before the work was waited for; if there are more, nothing changes
     * @param isShort whether it is needed elsewhere, so that it is not to be taken again at once
     * @return whether the memory is forgotten
     */
    boolean detach(long frees, boolean isShort) {
        if (!isIdle() || blocks.freed() != frees) {
            return false;
        }
        blocks.settleAll();
        if (isShort) {
            course.giveUp();
        } else {
            course.restart();
        }
        leave();
        return true;
    }

    /** Forgets the memory, live or not. */
    void leave() {
        base = NO_ADDRESS;
        moves++;
    }

    /** Lets others serve all calls from here on. */
    void close() {
        isChanging = true;
    }

    /** Lets the next call begin a run: there may be memory by now. */
    void restart() {
        runsToWait = 0;
        course.restart();
    }

    /** Returns whether memory is there in which nothing is live. */
    boolean isIdle() {
        return base != NO_ADDRESS && blocks.live() == 0 && !isChanging;
    }

    /** Returns whether an address is in the memory. Needs no lock for the address of a live block. */
    boolean contains(long address) {
        final long start = base;
        return start != NO_ADDRESS && Long.compareUnsigned(address - start, table.height()) < 0;
    }

    /**
     * Frees the block at an address of the memory.
     *
     * @throws InvalidFreeException if no live block begins there; nothing changes then
     */
    void free(long address) {
        final int block = blocks.at(address - base);
        if (isChanging) {
            return;
        }
        if (block == PlannedBlocks.NONE) {
            throw invalidFree(address);
        }
        isChanging = true;
        blocks.free(block);
        isChanging = false;
    }

    private InvalidFreeException invalidFree(long address) {
        final long offset = address - base;
        final String where =
                "the plan's memory of " + table.height() + " bytes at 0x" + Long.toHexString(base) + " of " + info;
        for (final int block : blocks.liveBlocks()) {
            final long inside = offset - table.offsets[block];
            if (inside > 0 && inside < table.byteSizes[block]) {
                return new InteriorAddressException(
                        address,
                        "it lies " + inside + " bytes inside a live allocation of " + table.byteSizes[block]
                                + " bytes in " + where);
            }
        }
        return Granules.isWhole(offset)
                ? new DoubleFreeException(address, "it was freed already; it lies in " + where)
                : new ForeignAddressException(address, "it was never allocated; it lies in " + where);
    }

    /** Makes what a stream has freed free for all, at the end of a run; if it is released, also what it frees later. */
    void endRun(SyncStream stream, boolean isReleased) {
        if (beginChange()) {
            blocks.settle(stream, isReleased);
            course.runEnded();
            isChanging = false;
        }
    }

    /** Returns the address of the memory, {@link #NO_ADDRESS} if there is none. */
    long base() {
        return base;
    }

    /** Returns how often the memory came or went. */
    long moves() {
        return moves;
    }

    /** Returns how many calls were planned and not served: what has the bytes was not free for the requester. */
    long busyCalls() {
        return busyCalls + course.crowdedRuns();
    }
}
