package allocator.arena.plan;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Which planned block the next call gets: compares the sizes of calls with those of the plans.
 *
 * <p>A run begins at a plan's first call. A call that is not the plan's next one continues another plan that has begun
 * alike; or it begins another run, if the plan is complete, a stream's run has ended, or as many blocks as were
 * allocated since the run began are freed; otherwise the run leaves the plan. From then on a run begins after the end
 * of a stream's run, or with a call at which no more blocks are live than at any call for as many calls as the longest
 * plan has.
 */
final class PlanCourse {
    /** No block. */
    static final int NONE = -1;

    private final PlanTable table;
    private final PlannedBlocks blocks;

    /** The block of the next call, and the end of the plan; equal while no plan is followed. */
    private int cursor;

    private int end;
    private int plan;
    private boolean isFollowing;

    /** Whether the next call is the first of a run, as far as that is known. */
    private boolean isAtBeginning = true;

    /** The blocks that were live when the run began. */
    private long levelAtBeginning;

    /** While no plan is followed: the fewest blocks live at a call, and for how many calls that holds. */
    private long leastLevel = Long.MAX_VALUE;

    private int callsToGo;

    /** The allocations that others have served, and the frees of such blocks, which need no lock. */
    private long handedOn;

    private final AtomicLong freedByOthers = new AtomicLong();

    private long runs;
    private long mismatches;

    /** Runs that could not begin, as too much of earlier ones is live. */
    private long crowdedRuns;

    /** Describes the latest mismatch: its plan, its call, and the sizes, 0 for no such call. */
    private int mismatchedPlan;

    private int mismatchedCall;
    private long expectedBytes;
    private long actualBytes;

    PlanCourse(PlanTable table, PlannedBlocks blocks) {
        this.table = table;
        this.blocks = blocks;
    }

    /**
     * Returns the block of a call, which stays the next one until {@link #advance}.
     *
     * @param rounded the size of the request, rounded
     * @return the block, {@link #NONE} if the call is not planned
     */
    int next(long rounded) {
        return cursor < end && table.byteSizes[cursor] == rounded && !(isAtBeginning && beginsAgain(rounded, level()))
                ? cursor
                : decide(rounded, level());
    }

    /** Returns the number of live blocks, planned or not, apart from a number that stays the same. */
    private long level() {
        return blocks.live() + handedOn - freedByOthers.get();
    }

    private int decide(long rounded, long level) {
        if (!isFollowing) {
            return mayBegin(level) ? begin(rounded, level) : NONE;
        }
        if (isAtBeginning && beginsAgain(rounded, level)) {
            return begin(rounded, level);
        }
        final boolean isOver = isAtBeginning || level <= levelAtBeginning;
        final int calls = cursor - table.first(plan);
        if (cursor < end || !isOver) {
            final int other = table.planWith(plan, calls, rounded);
            if (other != PlanTable.NONE && blocks.begin()) {
                follow(other, calls);
                return cursor;
            }
        }
        if (cursor == end || isOver) {
            isAtBeginning = true;
            return begin(rounded, level);
        }
        mismatched(plan, calls, rounded);
        leave(level);
        return NONE;
    }

    /** Returns whether a call after the end of a stream's run begins a run, with nothing left of the one before. */
    private boolean beginsAgain(long rounded, long level) {
        return isFollowing
                && cursor > table.first(plan)
                && level <= levelAtBeginning
                && table.planWith(plan, 0, rounded) != PlanTable.NONE;
    }

    private boolean mayBegin(long level) {
        if (isAtBeginning) {
            return true;
        }
        if (--callsToGo < 0) {
            callsToGo = table.mostCalls();
            leastLevel = level;
        }
        if (level > leastLevel) {
            return false;
        }
        leastLevel = level;
        return true;
    }

    private int begin(long rounded, long level) {
        final boolean isKnown = isAtBeginning;
        isAtBeginning = false;
        final int beginning = table.planWith(plan, 0, rounded);
        if (beginning == PlanTable.NONE || !blocks.begin()) {
            if (beginning != PlanTable.NONE) {
                crowdedRuns++;
            } else if (isKnown) {
                mismatched(plan, isFollowing && cursor == end ? cursor - table.first(plan) : 0, rounded);
            }
            leave(level);
            return NONE;
        }
        isFollowing = true;
        levelAtBeginning = level;
        runs++;
        follow(beginning, 0);
        return cursor;
    }

    private void follow(int next, int calls) {
        plan = next;
        cursor = table.first(next) + calls;
        end = table.end(next);
    }

    private void mismatched(int of, int calls, long rounded) {
        final int block = table.first(of) + calls;
        mismatches++;
        mismatchedPlan = of;
        mismatchedCall = calls + 1;
        expectedBytes = block < table.end(of) ? table.byteSizes[block] : 0;
        actualBytes = rounded;
    }

    /** Follows no plan from here on, until a run begins. */
    private void leave(long level) {
        isFollowing = false;
        cursor = 0;
        end = 0;
        leastLevel = level;
        callsToGo = table.mostCalls();
    }

    /** Goes on to the next call. */
    void advance() {
        cursor++;
    }

    /** Leaves the plan: too many of its blocks were not clear, or there is no memory for it. */
    void giveUp() {
        leave(Long.MIN_VALUE);
    }

    /** Leaves the plan, since its memory was returned. */
    void restart() {
        leave(Long.MAX_VALUE);
        isAtBeginning = true;
    }

    /** Records that a stream's run has ended. */
    void runEnded() {
        isAtBeginning = true;
    }

    /** Records that others serve the call. */
    void handOn() {
        handedOn++;
    }

    /** Records that a block was freed that others have served. Needs no lock. */
    void freedByOthers() {
        freedByOthers.getAndIncrement();
    }

    long runs() {
        return runs;
    }

    long mismatches() {
        return mismatches;
    }

    long crowdedRuns() {
        return crowdedRuns;
    }

    /** Describes the latest mismatch; there was one. */
    String describeMismatch() {
        final String name = table.name(mismatchedPlan);
        return "call " + mismatchedCall + " of a run has " + actualBytes + " bytes, "
                + (expectedBytes == 0
                        ? "and the plan " + name + " has no such call"
                        : expectedBytes + " in the plan " + name);
    }
}
