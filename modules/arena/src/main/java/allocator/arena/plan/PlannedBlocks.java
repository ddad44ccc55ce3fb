package allocator.arena.plan;

import allocator.provider.support.HeapSize;
import allocator.spi.SyncStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The state of each planned block, and whether its bytes may be used: no block is placed over one that is live, or that
 * was freed on a stream which the requester is not behind.
 *
 * <p>A block of the run that memory follows now is compared with its predecessors in the plan alone. What an earlier
 * run left live is in a short list of <em>strangers</em>, which each call is compared with; what it freed on streams is
 * in the {@link Bands}.
 *
 * <p>Takes no Java heap after its creation. Each block has a record of {@value #WORDS} words, which a call finds in one
 * line of the processor's cache.
 *
 * <pre>
 *   word 0  size, rounded                              word 4  state: run, slot of the stream, 1 if live
 *   word 1  offset                                     word 5  bytes requested
 *   word 2  place, band                                word 6  the slot's term at the free
 *   word 3  number and start of the predecessors       word 7  the stream's stamp at the free
 * </pre>
 */
final class PlannedBlocks {
    /** No block. */
    static final int NONE = -1;

    /** The most live blocks of earlier runs beside which a run is followed. */
    static final int MOST_STRANGERS = 256;

    private static final int WORDS = 8;
    private static final int SIZE = 0;
    private static final int OFFSET = 1;
    private static final int PLACE_AND_BAND = 2;
    private static final int PREDECESSORS = 3;
    private static final int STATE = 4;
    private static final int REQUESTED = 5;
    private static final int TERM = 6;
    private static final int STAMP = 7;

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

    private final int[] strangers = new int[MOST_STRANGERS];
    private int strangerCount;

    /** The run that is followed, and the blocks that it may have placed: from the first to before the end. */
    private long run;

    private int runFirst;
    private int runEnd;

    /** The predecessors that {@link #isClear} has visited. */
    private int visited;

    private int live;
    private long inUse;
    private long requested;

    /** Counts frees, so that a shrink notices those that come while it waits. */
    private long frees;

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
        records = new long[Math.multiplyExact(WORDS, table.blocks())];
        for (int block = 0; block < table.blocks(); block++) {
            final int record = block * WORDS;
            final int from = table.predecessorsFrom[block];
            records[record + SIZE] = table.byteSizes[block];
            records[record + OFFSET] = table.offsets[block];
            records[record + PLACE_AND_BAND] = pair(places.find(table.offsets[block]), table.bandOf[block]);
            records[record + PREDECESSORS] = pair(table.predecessorsFrom[block + 1] - from, from);
        }
    }

    private static long pair(int high, int low) {
        return (long) high << Integer.SIZE | low;
    }

    private static int high(long pair) {
        return (int) (pair >>> Integer.SIZE);
    }

    private long word(int block, int word) {
        return records[block * WORDS + word];
    }

    private boolean isLive(int block) {
        return (word(block, STATE) & LIVE) != 0;
    }

    private long runOf(int block) {
        return word(block, STATE) >>> RUN_SHIFT;
    }

    private int slotOf(int block) {
        return (int) (word(block, STATE) >>> SLOT_SHIFT & SLOT_MASK);
    }

    long byteSize(int block) {
        return word(block, SIZE);
    }

    long offset(int block) {
        return word(block, OFFSET);
    }

    /**
     * Begins a run, or goes on with another plan in its middle: what is live or was freed so far is of an earlier run
     * from here on.
     *
     * @param first the first block that it may place
     * @return false if too many blocks are live; nothing changes then
     */
    boolean begin(int first) {
        if (live > MOST_STRANGERS) {
            return false;
        }
        if (live > strangerCount) {
            for (int block = runFirst; block < runEnd; block++) {
                if (runOf(block) == run && isLive(block) && strangerCount < MOST_STRANGERS) {
                    strangers[strangerCount++] = block;
                }
            }
        }
        run++;
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
        // Nearly always all are free: one comparison each, in a loop that the compiler inlines.
        final long freed = run << RUN_SHIFT | (long) requester << SLOT_SHIFT;
        final long links = word(block, PREDECESSORS);
        final int from = (int) links;
        final int end = from + high(links);
        for (int i = from; i < end; i++) {
            if (word(predecessors[i], STATE) != freed) {
                visited = 0;
                return arePredecessorsFree(block, requester, stream, 0);
            }
        }
        return true;
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
        final long links = word(block, PREDECESSORS);
        final int from = (int) links;
        final int end = from + high(links);
        visited += end - from;
        if (visited > MOST_VISITED && leftOut > 0) {
            return false;
        }
        for (int i = from; i < end; i++) {
            final int before = predecessors[i];
            if (word(before, STATE) == freed) {
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
        final int band = (int) word(block, PLACE_AND_BAND);
        bands.enter(band, run);
        return bands.mayUse(band, requester, stream);
    }

    private boolean isFree(int block, int requester, @Nullable SyncStream stream) {
        return !isLive(block)
                && streams.mayUse(requester, stream, slotOf(block), (int) word(block, TERM), word(block, STAMP));
    }

    /** Places a block that is clear. Stores only. */
    void place(int block, int requester, long byteSize) {
        final int record = block * WORDS;
        places.live[high(records[record + PLACE_AND_BAND])] = block;
        records[record + STATE] = run << RUN_SHIFT | (long) requester << SLOT_SHIFT | LIVE;
        records[record + REQUESTED] = byteSize;
        if (requester != PlanStreams.NONE) {
            streams.live[requester]++;
        }
        runEnd = block + 1;
        live++;
        inUse += records[record + SIZE];
        requested += byteSize;
    }

    /** Undoes {@link #place}: the caller did not learn the address. The block was left out of this run then. */
    void undo(int block) {
        if (isLive(block)) {
            leave(block);
        }
        records[block * WORDS + STATE] = 0;
    }

    /** Frees a live block. */
    void free(int block) {
        final int slot = slotOf(block);
        if (slot != PlanStreams.NONE) {
            final int record = block * WORDS;
            final long stamp = streams.stamp(slot);
            records[record + TERM] = streams.term(slot);
            records[record + STAMP] = stamp;
            bands.freed((int) records[record + PLACE_AND_BAND], runOf(block), slot, stamp);
            streams.freed(slot, stamp);
        }
        leave(block);
    }

    /** Calls come before the stores, since one may fail where the stack ends. */
    private void leave(int block) {
        final int record = block * WORDS;
        final int slot = slotOf(block);
        final long runOfBlock = runOf(block);
        final int place = high(records[record + PLACE_AND_BAND]);
        places.live[place] = NONE;
        records[record + STATE] &= ~LIVE;
        live--;
        inUse -= records[record + SIZE];
        requested -= records[record + REQUESTED];
        frees++;
        if (slot != PlanStreams.NONE) {
            streams.live[slot]--;
        }
        if (runOfBlock != run) {
            for (int i = 0; i < strangerCount; i++) {
                if (strangers[i] == block) {
                    strangers[i] = strangers[--strangerCount];
                    break;
                }
            }
        }
    }

    /** Returns the live block that begins at an offset, {@link #NONE} if there is none. */
    int at(long offset) {
        final int place = places.find(offset);
        return place == Places.NONE ? NONE : places.live[place];
    }

    /** Returns the live block that an offset is in, {@link #NONE} if there is none. */
    int containing(long offset) {
        for (final int block : places.live) {
            if (block != NONE && offset >= offset(block) && offset - offset(block) < byteSize(block)) {
                return block;
            }
        }
        return NONE;
    }

    /** Returns the bytes that the caller of a live block requested. */
    long requested(int block) {
        return word(block, REQUESTED);
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
        for (int place = 0; streams.live[slot] > 0 && place < places.live.length; place++) {
            final int block = places.live[place];
            if (block != NONE && slotOf(block) == slot) {
                records[block * WORDS + STATE] &= ~(SLOT_MASK << SLOT_SHIFT);
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

    int live() {
        return live;
    }

    long inUse() {
        return inUse;
    }

    long requested() {
        return requested;
    }

    long frees() {
        return frees;
    }

    /** Passes the blocks that are live, and those that a stream may still use. */
    void forEach(Visitor visitor) {
        for (int block = 0; block < table.blocks(); block++) {
            if (isLive(block)) {
                visitor.visit(block, true, requested(block), streams.id(slotOf(block)));
            } else if (runOf(block) > 0 && !streams.isSettled(slotOf(block), (int) word(block, TERM))) {
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
        long foundInUse = 0;
        long end = 0;
        for (final int block : Arrays.stream(places.live)
                .filter(block -> block != NONE)
                .boxed()
                .sorted((a, b) -> Long.compare(offset(a), offset(b)))
                .toList()) {
            if (offset(block) < end || !isLive(block)) {
                return "block " + block + " overlaps another one, or is free";
            }
            end = offset(block) + byteSize(block);
            found++;
            foundInUse += byteSize(block);
        }
        return found == live && foundInUse == inUse
                ? ""
                : live + " blocks of " + inUse + " bytes, there are " + found + " of " + foundInUse;
    }

    long heapBytes() {
        return HeapSize.ofLongs(records.length) + places.heapBytes() + bands.heapBytes();
    }
}
