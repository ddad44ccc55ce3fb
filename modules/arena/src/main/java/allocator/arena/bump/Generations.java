package allocator.arena.bump;

import java.util.Arrays;

/**
 * Decides whether a position in a {@link BumpArena} was freed since a given generation.
 *
 * <p>Holds a stack of <em>cuts</em>. A cut is a position and the generation that began there; both rise from bottom to
 * top. What lies at a position and is older than the highest cut at or below it is freed. A rollback removes the cuts
 * at and above its mark and pushes one, so a reset leaves exactly one.
 */
final class Generations {
    private long[] positions = new long[4];
    private long[] generations = new long[4];
    private int cuts = 1;
    private long current;

    /** The generation that the last reset began. */
    private long lastReset;

    long current() {
        return current;
    }

    /** Begins a generation: everything at and above a position is freed. If it throws, nothing changes. */
    void cut(long position) {
        cut(position, false);
    }

    /** Begins a generation: everything is freed. If it throws, nothing changes. */
    void reset() {
        cut(0, true);
    }

    private void cut(long position, boolean isReset) {
        int kept = cuts;
        while (kept > 0 && positions[kept - 1] >= position) {
            kept--;
        }
        if (kept == positions.length) {
            final long[] newPositions = Arrays.copyOf(positions, 2 * kept);
            final long[] newGenerations = Arrays.copyOf(generations, 2 * kept);
            positions = newPositions;
            generations = newGenerations;
        }
        current++;
        positions[kept] = position;
        generations[kept] = current;
        cuts = kept + 1;
        if (isReset) {
            lastReset = current;
        }
    }

    /** Returns whether no cut since {@code generation} freed what lies at a position. */
    boolean isLive(long position, long generation) {
        return generations[lastCut(position)] <= generation;
    }

    /** Returns whether a reset, or a rollback to below the mark, followed a mark. */
    boolean isStaleMark(long position, long generation) {
        final int below = lastCut(position - 1);
        return lastReset > generation || (below >= 0 && generations[below] > generation);
    }

    /** Returns the highest cut at or below a position; {@code -1} if there is none. */
    private int lastCut(long position) {
        int cut = cuts - 1;
        while (cut >= 0 && positions[cut] > position) {
            cut--;
        }
        return cut;
    }
}
