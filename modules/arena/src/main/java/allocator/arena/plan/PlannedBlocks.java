package allocator.arena.plan;

import allocator.provider.support.HeapSize;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * The state of each planned block, and whether its bytes may be used: no block is placed over one that is live, or that
 * was freed on a stream which the requester is not behind.
 *
 * <p>A block of the run that memory follows now is compared with its predecessors in the plan alone. What an earlier
 * run left live is in a short list of <em>strangers</em>, which each call is compared with; what it freed on streams is
 * in the {@link Bands}.
 *
 * <p>Takes no Java heap after its creation. What a call needs to know of its block is in the {@link PlanRecords}; what
 * changes is in a table of one word for each block, and in the {@link Places}.
 *
 * <pre>
 *   state   run, slot of the stream, 1 if live
 *   free    the slot's term at the free, the stream's stamp at the free
 * </pre>
 */
final class PlannedBlocks {
    /** No block. */
    static final int NONE = -1;

    /** The most live blocks of earlier runs beside which a run is followed. */
    static final int MOST_STRANGERS = 256;

    /** In the frees. */
    private static final int FREE_WORDS = 2;

    private static final int TERM = 0;
    private static final int STAMP = 1;

    /** How many predecessors a call visits at most. One that was left out is replaced by its own predecessors. */
    private static final int MOST_VISITED = 256;

    /** How many of them may have been left out one over the other. */
    private static final int MOST_LEFT_OUT = 16;

    /** In a state, beside the run: the slot, and whether the block is live. */
    private static final int RUN_SHIFT = 8;

    private static final int SLOT_SHIFT = 1;
    private static final long SLOT_MASK = 0x7f;
    private static final long LIVE = 1;

    final PlanStreams streams = new PlanStreams();
    private final PlanTable table;
    private final Bands bands;
    private final Places places;
    private final int[] predecessors;
    private final long[] records;
    private final long[] states;

    /** Stands for a predecessor where there is none: its state is that of a block of this run that was freed. */
    private final int noPredecessor;

    /** Of blocks that were freed on a stream. */
    private final long[] frees;

    private final int[] strangers = new int[MOST_STRANGERS];
    private int strangerCount;

    /** The run that is followed, and the blocks that it may have placed: from the first to before the end. */
    private long run;

    private int runFirst;
    private int runEnd;

    /** The predecessors that {@link #isClear} has visited. */
    private int visited;

    private long placedBlocks;
    private long undoneBlocks;

    /** Counts frees, so that a shrink notices those that come while it waits. */
    private long freedBlocks;

    /** Receives a block's state. */
    @FunctionalInterface
    interface Visitor {
        void visit(int block, boolean isLive, long requestedBytes, long streamId);
    }

    PlannedBlocks(PlanTable table) {
        this.table = table;
        bands = new Bands(table.bands, streams);
        places = new Places(table.offsets);
        predecessors = table.predecessors;
        noPredecessor = PlanRecords.none(table);
        records = PlanRecords.of(table, places);
        states = new long[PlanRecords.many(table) + 1];
        frees = new long[FREE_WORDS * table.blocks()];
    }

    private int placeOf(int block) {
        return (int) records[block * PlanRecords.WORDS + PlanRecords.PLACE];
    }

    private boolean isLive(int block) {
        return (states[block] & LIVE) != 0;
    }

    private long runOf(int block) {
        return states[block] >>> RUN_SHIFT;
    }

    private int slotOf(int block) {
        return slotIn(states[block]);
    }

    private static int slotIn(long state) {
        return (int) (state >>> SLOT_SHIFT & SLOT_MASK);
    }

    /** Returns the size of a block, rounded. */
    long byteSize(int block) {
        return records[block * PlanRecords.WORDS + PlanRecords.SIZE];
    }

    /**
     * Begins a run, or goes on with another plan in its middle: what is live or was freed so far is of an earlier run
     * from here on.
     *
     * @param first the first block that it may place
     * @return false if too many blocks are live; nothing changes then
     */
    boolean begin(int first) {
        if (live() > MOST_STRANGERS) {
            return false;
        }
        if (live() > strangerCount) {
            for (int block = runFirst; block < runEnd; block++) {
                if (runOf(block) == run && isLive(block) && strangerCount < MOST_STRANGERS) {
                    strangers[strangerCount++] = block;
                }
            }
        }
        run++;
        states[noPredecessor] = run << RUN_SHIFT;
        runFirst = first;
        runEnd = first;
        return true;
    }

    /**
     * Returns whether a block of the run may be placed for a requester.
     *
     * @param requester the slot of {@code stream}
     * @param stream the requester, {@code null} for no stream
     */
    boolean isClear(int block, int requester, @Nullable SyncStream stream) {
        if ((strangerCount > 0 || streams.areUsed()) && !isClearOfEarlierRuns(block, requester, stream)) {
            return false;
        }
        // Nearly always all are free, and they are few: one branch, which the processor foresees.
        final long freed = run << RUN_SHIFT | (long) requester << SLOT_SHIFT;
        final int record = block * PlanRecords.WORDS;
        final long two = records[record + PlanRecords.PREDECESSORS];
        final long more = records[record + PlanRecords.PREDECESSORS + 1];
        final long differences = (states[(int) two] ^ freed)
                | (states[PlanRecords.second(two)] ^ freed)
                | (states[(int) more] ^ freed)
                | (states[PlanRecords.second(more)] ^ freed);
        if (differences == 0) {
            return true;
        }
        visited = 0;
        return arePredecessorsFree(block, requester, stream, 0);
    }

    /**
     * Returns whether what had a block's bytes last in this run is free for a requester; {@code false} also if that
     * would take long to find out.
     *
     * @param leftOut how many blocks above were left out of this run: it has nothing of its own in their bytes, and
     *     their predecessors had them last
     */
    private boolean arePredecessorsFree(int block, int requester, @Nullable SyncStream stream, int leftOut) {
        final long freed = run << RUN_SHIFT | (long) requester << SLOT_SHIFT;
        final int from = table.predecessorsFrom[block];
        final int end = table.predecessorsFrom[block + 1];
        visited += end - from;
        if (visited > MOST_VISITED && leftOut > 0) {
            return false;
        }
        for (int i = from; i < end; i++) {
            final int before = predecessors[i];
            if (states[before] == freed) {
                continue;
            }
            if (runOf(before) == run) {
                if (!isFree(before, requester, stream)) {
                    return false;
                }
            } else if (before >= runFirst
                    && (leftOut == MOST_LEFT_OUT || !arePredecessorsFree(before, requester, stream, leftOut + 1))) {
                return false;
            }
        }
        return true;
    }

    private boolean isClearOfEarlierRuns(int block, int requester, @Nullable SyncStream stream) {
        for (int i = 0; i < strangerCount; i++) {
            if (isLive(strangers[i]) && table.overlap(strangers[i], block)) {
                return false;
            }
        }
        final int band = table.bandOf[block];
        bands.enter(band, run);
        return bands.mayUse(band, requester, stream);
    }

    private boolean isFree(int block, int requester, @Nullable SyncStream stream) {
        return !isLive(block)
                && streams.mayUse(requester, stream, slotOf(block), termOf(block), frees[FREE_WORDS * block + STAMP]);
    }

    private int termOf(int block) {
        return (int) frees[FREE_WORDS * block + TERM];
    }

    /** Places a block that is clear, and returns its offset. Stores only. */
    long place(int block, int requester, long byteSize, long requested) {
        final int place = placeOf(block);
        places.words[place + Places.BLOCK] = block;
        places.words[place + Places.SIZE] = byteSize;
        places.words[place + Places.REQUESTED] = requested;
        states[block] = run << RUN_SHIFT | (long) requester << SLOT_SHIFT | LIVE;
        if (requester != PlanStreams.NONE) {
            streams.live[requester]++;
        }
        runEnd = block + 1;
        placedBlocks++;
        return places.words[place];
    }

    /** Undoes {@link #place}: the caller did not learn the address. The block was left out of this run then. */
    void undo(int block) {
        if (isLive(block)) {
            leave(placeOf(block), block);
            undoneBlocks++;
        }
        states[block] = 0;
    }

    /** Frees the live block at a place. */
    void free(int place) {
        final int block = places.block(place);
        final int slot = slotOf(block);
        if (slot != PlanStreams.NONE) {
            final long stamp = streams.stamp(slot);
            frees[FREE_WORDS * block + TERM] = streams.term(slot);
            frees[FREE_WORDS * block + STAMP] = stamp;
            bands.freed(table.bandOf[block], runOf(block), slot, stamp);
            streams.freed(slot, stamp);
        }
        leave(place, block);
    }

    /** Calls come before the stores, since one may fail where the stack ends. */
    private void leave(int place, int block) {
        final long state = states[block];
        final int slot = slotIn(state);
        places.words[place + Places.BLOCK] = Places.NONE;
        states[block] = state & ~LIVE;
        freedBlocks++;
        if (slot != PlanStreams.NONE) {
            streams.live[slot]--;
        }
        if (state >>> RUN_SHIFT != run) {
            for (int i = 0; i < strangerCount; i++) {
                if (strangers[i] == block) {
                    strangers[i] = strangers[--strangerCount];
                    break;
                }
            }
        }
    }

    /** Returns the place of the live block that begins at an offset, {@link Places#NONE} if there is none. */
    int at(long offset) {
        final int place = places.find(offset);
        return place == Places.NONE || places.block(place) == NONE ? Places.NONE : place;
    }

    /** Returns the place of the live block that an offset is in, {@link Places#NONE} if there is none. */
    int containing(long offset) {
        for (int place = 0; place < places.end(); place += Places.WORDS) {
            if (places.block(place) != NONE
                    && offset >= places.offset(place)
                    && offset - places.offset(place) < places.byteSize(place)) {
                return place;
            }
        }
        return Places.NONE;
    }

    /** Returns where live blocks are. */
    Places places() {
        return places;
    }

    /** Makes what a stream has freed free for all; if it is released, also what it frees later. */
    void endTerm(SyncStream stream, boolean isReleased) {
        final int slot = streams.find(stream);
        if (slot == PlanStreams.NONE) {
            return;
        }
        if (!isReleased) {
            streams.endTerm(slot);
            return;
        }
        for (int place = 0; streams.live[slot] > 0 && place < places.end(); place += Places.WORDS) {
            final int block = places.block(place);
            if (block != NONE && slotOf(block) == slot) {
                states[block] &= ~(SLOT_MASK << SLOT_SHIFT);
                streams.live[slot]--;
            }
        }
        streams.release(slot);
    }

    /** Forgets what was freed: the memory was returned after all work on it. Nothing is live. */
    void settleAll() {
        streams.settleAll();
        bands.clear();
    }

    /** Returns the number of live blocks. */
    long live() {
        return placedBlocks - freedBlocks;
    }

    /** Returns how many blocks were placed and not undone. */
    long placed() {
        return placedBlocks - undoneBlocks;
    }

    long frees() {
        return freedBlocks;
    }

    /** Passes the blocks that are live, and those that a stream may still use. */
    void forEach(Visitor visitor) {
        for (int block = 0; block < table.blocks(); block++) {
            if (isLive(block)) {
                visitor.visit(block, true, places.requested(placeOf(block)), streams.id(slotOf(block)));
            } else if (runOf(block) > 0 && !streams.isSettled(slotOf(block), termOf(block))) {
                visitor.visit(block, false, 0, streams.id(slotOf(block)));
            }
        }
    }

    /**
     * Compares everything with everything else, for tests.
     *
     * @return what is wrong, empty if nothing is
     */
    String findFault() {
        int found = 0;
        long end = 0;
        for (final int place : places.inOrder()) {
            final int block = places.block(place);
            if (places.offset(place) < end || !isLive(block)) {
                return "block " + block + " overlaps another one, or is free";
            }
            end = places.offset(place) + places.byteSize(place);
            found++;
        }
        return found == live() ? "" : live() + " blocks, there are " + found;
    }

    long heapBytes() {
        return HeapSize.ofLongs(records.length)
                + HeapSize.ofLongs(states.length)
                + HeapSize.ofLongs(frees.length)
                + places.heapBytes()
                + bands.heapBytes();
    }
}
