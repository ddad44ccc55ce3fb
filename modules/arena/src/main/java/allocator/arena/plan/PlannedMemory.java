package allocator.arena.plan;

import allocator.arena.chunk.Granules;
import allocator.spi.SyncStream;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One span of memory whose blocks lie where plans have them. It serves calls that come in a plan's order with a plan's
 * sizes, by comparison alone; whatever else comes is for others to serve.
 *
 * <p>Not safe for use by several threads. Takes no Java heap after its creation, apart from descriptions.
 */
public final class PlannedMemory {
    /** No memory. */
    public static final long NO_ADDRESS = 0;

    /** The calls of one run that may find their block's bytes in use; then the run leaves the plan. */
    private static final int MOST_BUSY = 64;

    /** How many runs without memory pass at most until it is asked for again. */
    private static final int MOST_RUNS_WAITED = 1023;

    private final PlanTable table;
    private final long height;
    private final PlannedBlocks blocks;
    private final PlanCourse course;
    private long base = NO_ADDRESS;
    private boolean wantsMemory;

    /** The block of the latest call, {@link PlannedBlocks#NONE} if it was not planned. */
    private int taken = PlannedBlocks.NONE;

    /** How many runs are to pass until memory is asked for again, and how many passed the last time. */
    private int runsToWait;

    private int runsWaited;

    private long busyCalls;
    private long runOfBusyCalls;
    private int busyCallsOfRun;

    /** Receives what a block takes. */
    @FunctionalInterface
    public interface Visitor {
        /**
         * Receives a block, in the order of its plan's calls.
         *
         * @param offset bytes from the start of the memory
         * @param byteSize bytes, padding included
         * @param isLive whether it is live; otherwise a stream may still use it
         * @param requestedBytes bytes that the caller requested, 0 unless it is live
         * @param streamId the id of its stream, 0 for none
         */
        void visit(long offset, long byteSize, boolean isLive, long requestedBytes, long streamId);
    }

    /**
     * Creates memory that has none yet.
     *
     * @param table the plans
     */
    public PlannedMemory(PlanTable table) {
        this.table = table;
        height = table.height();
        blocks = new PlannedBlocks(table);
        course = new PlanCourse(table, blocks);
    }

    /** Begins a call: {@link #undo} has nothing to undo. */
    public void begin() {
        taken = PlannedBlocks.NONE;
    }

    /**
     * Takes the block of a call, if the call is planned and the block's bytes are free for the requester.
     *
     * @param byteSize the size of the request, above zero
     * @param stream the requester, {@code null} for no stream
     * @param level the bytes in use in chunks, planned or not
     * @return the address; {@link #NO_ADDRESS} if others are to serve the call, or after {@link #wantsMemory} is true
     */
    public long take(long byteSize, @Nullable SyncStream stream, long level) {
        wantsMemory = false;
        final long rounded = Granules.roundUp(byteSize);
        final int block = course.next(rounded, level);
        if (block == PlanCourse.NONE) {
            return NO_ADDRESS;
        }
        if (base == NO_ADDRESS) {
            if (runsToWait > 0) {
                runsToWait--;
                course.giveUp();
            } else {
                wantsMemory = true;
            }
            return NO_ADDRESS;
        }
        final int requester = stream == null ? PlanStreams.NONE : blocks.streams.slotOf(stream);
        if (requester == PlanStreams.FULL || !blocks.isClear(block, requester, stream)) {
            pass();
            return NO_ADDRESS;
        }
        taken = block;
        final long address = base + blocks.place(block, requester, rounded, byteSize);
        course.advance();
        return address;
    }

    /** Leaves a call to others whose block's bytes are in use; after too many of them, the whole run. */
    private void pass() {
        busyCalls++;
        if (runOfBusyCalls != course.runs()) {
            runOfBusyCalls = course.runs();
            busyCallsOfRun = 0;
        }
        course.advance();
        if (++busyCallsOfRun > MOST_BUSY) {
            course.giveUp();
        }
    }

    /** Returns whether the latest call is planned, but there is no memory yet. */
    public boolean wantsMemory() {
        return wantsMemory;
    }

    /** Enters the memory. */
    public void attach(long address) {
        base = address;
        wantsMemory = false;
        runsToWait = 0;
        runsWaited = 0;
    }

    /** Records that there is no memory: this run and more and more of the next ones are for others to serve. */
    public void unavailable() {
        wantsMemory = false;
        runsWaited = Math.min(2 * runsWaited + 1, MOST_RUNS_WAITED);
        runsToWait = runsWaited;
        course.giveUp();
    }

    /**
     * Forgets the memory, which is returned after all work on it. Nothing is live.
     *
     * @param isShort whether it is needed elsewhere, so that it is not to be taken again at once
     */
    public void detach(boolean isShort) {
        base = NO_ADDRESS;
        blocks.settleAll();
        if (isShort) {
            course.giveUp();
        } else {
            course.restart();
        }
    }

    /** Lets the next call begin a run: there may be memory by now. */
    public void restart() {
        runsToWait = 0;
        course.restart();
    }

    /** Returns whether an address is in the memory. */
    public boolean contains(long address) {
        return base != NO_ADDRESS && Long.compareUnsigned(address - base, height) < 0;
    }

    /** Returns the place of the live block at an address of the memory, a negative number if none begins there. */
    public int placeAt(long address) {
        return blocks.at(address - base);
    }

    /** Returns the place of the live block that an address of the memory is in, a negative number if there is none. */
    public int placeContaining(long address) {
        return blocks.containing(address - base);
    }

    /** Returns the address of the block at a place. */
    public long address(int place) {
        return base + blocks.places().offset(place);
    }

    /** Returns the bytes of the live block at a place, padding included. */
    public long byteSize(int place) {
        return blocks.places().byteSize(place);
    }

    /** Returns the bytes that the caller of the live block at a place requested. */
    public long requested(int place) {
        return blocks.places().requested(place);
    }

    /** Frees the live block at a place. */
    public void free(int place) {
        blocks.free(place);
    }

    /** Undoes the latest {@link #take}, of which the caller did not learn. */
    public void undo() {
        if (taken != PlannedBlocks.NONE) {
            blocks.undo(taken);
            taken = PlannedBlocks.NONE;
        }
    }

    /** Makes what a stream has freed free for all, at the end of a run. */
    public void endRun(SyncStream stream) {
        blocks.endTerm(stream, false);
        course.runEnded();
    }

    /** Makes what a stream has freed or will free here free for all. */
    public void releaseStream(SyncStream stream) {
        blocks.endTerm(stream, true);
        course.runEnded();
    }

    /** Adds the streams that have live blocks here, or may still use what they freed. */
    public void addOwners(Map<Long, SyncStream> owners) {
        blocks.streams.addOwners(owners);
    }

    /** Returns whether one of some streams may still use what it freed here. */
    public boolean hasOwnerAmong(Map<Long, SyncStream> others) {
        return blocks.streams.hasOwnerAmong(others);
    }

    /** Returns the address of the memory, {@link #NO_ADDRESS} if there is none. */
    public long base() {
        return base;
    }

    /** Returns the bytes held: none, or the height of the highest plan. */
    public long heldBytes() {
        return base == NO_ADDRESS ? 0 : height;
    }

    /** Returns the bytes that the memory takes. */
    public long height() {
        return height;
    }

    /** Returns the number of live blocks. */
    public long live() {
        return blocks.live();
    }

    /** Returns the bytes of live blocks, in time proportional to the number of blocks. */
    public long inUse() {
        return blocks.places().inUse();
    }

    /** Returns the bytes that the callers of live blocks requested, in time proportional to the number of blocks. */
    public long requested() {
        return blocks.places().requested();
    }

    /** Returns how many blocks were freed. */
    public long frees() {
        return blocks.frees();
    }

    /** Returns how many calls were served. */
    public long allocs() {
        return blocks.placed();
    }

    /** Returns how many runs began. */
    public long runs() {
        return course.runs();
    }

    /** Returns how many runs had a call that is not planned. */
    public long mismatches() {
        return course.mismatches();
    }

    /** Returns how many calls were planned and not served: what has the bytes was not free for the requester. */
    public long busyCalls() {
        return busyCalls + course.crowdedRuns();
    }

    /** Describes the latest mismatch; empty if there was none. */
    public String describeMismatch() {
        if (mismatches() == 0) {
            return "";
        }
        final PlanCourse.Mismatch mismatch = course.mismatch();
        return "call " + mismatch.call + " of a run has " + mismatch.actualBytes + " bytes, "
                + (mismatch.expectedBytes == 0
                        ? "and the plan " + table.name(mismatch.plan) + " has no such call"
                        : mismatch.expectedBytes + " in the plan " + table.name(mismatch.plan));
    }

    /** Passes the blocks that are live, and those that a stream may still use. */
    public void forEach(Visitor visitor) {
        blocks.forEach((block, isLive, requestedBytes, streamId) ->
                visitor.visit(table.offsets[block], table.byteSizes[block], isLive, requestedBytes, streamId));
    }

    /** Compares everything with everything else, for tests; returns what is wrong, empty if nothing is. */
    public String findFault() {
        return blocks.findFault();
    }

    /** Returns the Java heap that the tables take, in bytes, approximately. */
    public long heapBytes() {
        return table.heapBytes() + blocks.heapBytes();
    }
}
