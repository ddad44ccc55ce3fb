package allocator.arena.plan;

import allocator.provider.support.HeapSize;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Plans in the form in which memory follows them. The blocks of all plans are numbered, those of one plan in the order
 * of their calls. Immutable, so that the arenas of one configuration share it.
 *
 * <p>The <em>predecessors</em> of a block are the blocks of earlier calls that its bytes belonged to last. A block may
 * be placed when they are freed: whatever had the bytes before was free when they were placed.
 *
 * <p>A <em>band</em> is a range of offsets whose ends no block of any plan crosses.
 */
public final class PlanTable {
    /** No plan. */
    static final int NONE = -1;

    private final List<String> names;

    /** The first block of each plan, and the number of all blocks. */
    private final int[] firsts;

    final long[] byteSizes;
    final long[] offsets;

    final int[] bandOf;

    /** Where each block's predecessors begin in {@link #predecessors}, and the length of it. */
    final int[] predecessorsFrom;

    final int[] predecessors;
    final int bands;

    /** How many calls two plans begin with alike. */
    private final int[][] alike;

    private final long height;
    private final int mostCalls;

    /**
     * Prepares plans.
     *
     * @param plans the plans, each with at least one call
     */
    public PlanTable(List<PlannedCalls> plans) {
        names = plans.stream().map(PlannedCalls::name).toList();
        firsts = new int[plans.size() + 1];
        for (int plan = 0; plan < plans.size(); plan++) {
            firsts[plan + 1] = Math.addExact(firsts[plan], plans.get(plan).byteSizes().length);
        }
        byteSizes = plans.stream()
                .flatMapToLong(plan -> Arrays.stream(plan.byteSizes()))
                .toArray();
        offsets = plans.stream()
                .flatMapToLong(plan -> Arrays.stream(plan.offsets()))
                .toArray();
        height = IntStream.range(0, offsets.length)
                .mapToLong(block -> offsets[block] + byteSizes[block])
                .max()
                .orElse(0);
        mostCalls = IntStream.range(0, plans.size())
                .map(plan -> firsts[plan + 1] - firsts[plan])
                .max()
                .orElse(0);
        bandOf = new int[offsets.length];
        bands = findBands();
        predecessorsFrom = new int[offsets.length + 1];
        predecessors = findPredecessors();
        alike = new int[plans.size()][plans.size()];
        for (int plan = 0; plan < plans.size(); plan++) {
            for (int other = 0; other < plans.size(); other++) {
                alike[plan][other] = countAlike(plan, other);
            }
        }
    }

    private int findBands() {
        final int[] byOffset = IntStream.range(0, offsets.length)
                .boxed()
                .sorted(Comparator.comparingLong(block -> offsets[block]))
                .mapToInt(Integer::intValue)
                .toArray();
        int band = -1;
        long end = 0;
        for (final int block : byOffset) {
            if (band < 0 || offsets[block] >= end) {
                band++;
            }
            end = Math.max(end, offsets[block] + byteSizes[block]);
            bandOf[block] = band;
        }
        return band + 1;
    }

    private int[] findPredecessors() {
        int[] found = new int[4 * offsets.length];
        int count = 0;
        for (int plan = 0; plan < planCount(); plan++) {
            final LatestBlocks latest = new LatestBlocks();
            for (int block = first(plan); block < end(plan); block++) {
                predecessorsFrom[block] = count;
                for (final int before : latest.place(block)) {
                    if (count == found.length) {
                        found = Arrays.copyOf(found, 2 * count);
                    }
                    found[count++] = before;
                }
            }
        }
        predecessorsFrom[offsets.length] = count;
        return Arrays.copyOf(found, count);
    }

    private int countAlike(int plan, int other) {
        final int mismatch =
                Arrays.mismatch(byteSizes, firsts[plan], firsts[plan + 1], byteSizes, firsts[other], firsts[other + 1]);
        return mismatch < 0 ? firsts[plan + 1] - firsts[plan] : mismatch;
    }

    int planCount() {
        return names.size();
    }

    String name(int plan) {
        return names.get(plan);
    }

    /** Returns the first block of a plan. */
    int first(int plan) {
        return firsts[plan];
    }

    /** Returns the block behind the last one of a plan. */
    int end(int plan) {
        return firsts[plan + 1];
    }

    /** Returns the number of all blocks. */
    int blocks() {
        return offsets.length;
    }

    boolean overlap(int block, int other) {
        return offsets[block] < offsets[other] + byteSizes[other] && offsets[other] < offsets[block] + byteSizes[block];
    }

    /**
     * Returns a plan whose first calls are those of another plan, followed by one of a size.
     *
     * @param preferred the other plan, which is returned if it is such a plan itself
     * @param calls how many calls are alike
     * @param byteSize the size of the next call, rounded
     * @return the plan, {@link #NONE} if there is none
     */
    int planWith(int preferred, int calls, long byteSize) {
        if (continuesWith(preferred, calls, byteSize)) {
            return preferred;
        }
        for (int plan = 0; plan < names.size(); plan++) {
            if (alike[preferred][plan] >= calls && continuesWith(plan, calls, byteSize)) {
                return plan;
            }
        }
        return NONE;
    }

    private boolean continuesWith(int plan, int calls, long byteSize) {
        final int block = firsts[plan] + calls;
        return block < firsts[plan + 1] && byteSizes[block] == byteSize;
    }

    /**
     * Returns the bytes that the highest plan needs.
     *
     * @return bytes, above zero
     */
    public long height() {
        return height;
    }

    /**
     * Returns the number of calls of the longest plan.
     *
     * @return the number
     */
    public int mostCalls() {
        return mostCalls;
    }

    @Override
    public String toString() {
        return String.join(";", names);
    }

    /**
     * Returns the Java heap that the tables take.
     *
     * @return bytes, approximately
     */
    public long heapBytes() {
        return 2 * HeapSize.ofLongs(blocks()) + 2 * HeapSize.ofInts(blocks()) + HeapSize.ofInts(predecessors.length);
    }

    /** The block that each byte belonged to last, among the blocks of one plan. */
    private final class LatestBlocks {
        /** By start, what lies there. */
        private final TreeMap<Long, Piece> pieces = new TreeMap<>();

        private record Piece(long end, int block) {}

        /** Places a block, and returns the blocks that its bytes belonged to before. */
        int[] place(int block) {
            final long from = offsets[block];
            final long to = from + byteSizes[block];
            cut(from);
            cut(to);
            final Map<Long, Piece> covered = pieces.subMap(from, to);
            final int[] before =
                    covered.values().stream().mapToInt(Piece::block).distinct().toArray();
            covered.clear();
            pieces.put(from, new Piece(to, block));
            return before;
        }

        private void cut(long at) {
            final Map.Entry<Long, Piece> piece = pieces.lowerEntry(at);
            if (piece != null && piece.getValue().end > at) {
                pieces.put(piece.getKey(), new Piece(at, piece.getValue().block));
                pieces.put(at, piece.getValue());
            }
        }
    }
}
