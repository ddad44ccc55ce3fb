package allocator.arena.plan;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Plans in the form in which memory follows them. The blocks of all plans are numbered, those of one plan in the order
 * of their calls. Immutable, so that several allocators may share it.
 *
 * <p>The <em>predecessors</em> of a block are the blocks of earlier calls that its bytes belonged to last. A block may
 * be placed when they are freed: whatever had the bytes before was free when they were placed.
 *
 * <p>A <em>band</em> is a range of offsets whose ends no block of any plan crosses. The offsets at which blocks begin
 * are found by hashing: each has a <em>place</em>.
 */
final class PlanTable {
    /** No plan, or no place. */
    static final int NONE = -1;

    /** Spreads offsets: 2<sup>64</sup> over the golden ratio. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private final List<String> names;

    /** The first block of each plan, and the number of all blocks. */
    private final int[] firsts;

    final long[] byteSizes;
    final long[] offsets;

    /** Where each block's predecessors begin in {@link #predecessors}, and the length of it. */
    final int[] predecessorsFrom;

    final int[] predecessors;

    /** The band of each block, and where each band begins. */
    final int[] bandOf;

    final long[] bandStarts;

    /** The place of each block's offset. */
    final int[] placeOf;

    /** The offset of each place, {@link #NONE} where there is none. */
    private final long[] places;

    private final int placeShift;
    private final long height;
    private final int mostCalls;

    /**
     * Prepares plans.
     *
     * @param plans the plans, each with at least one call
     */
    PlanTable(List<PlannedCalls> plans) {
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
        predecessorsFrom = new int[offsets.length + 1];
        predecessors = findPredecessors();
        bandOf = new int[offsets.length];
        bandStarts = findBands();
        final int bits = Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(2 * offsets.length, 2) - 1);
        placeShift = Long.SIZE - bits;
        places = new long[1 << bits];
        Arrays.fill(places, NONE);
        placeOf = Arrays.stream(offsets).mapToInt(this::addPlace).toArray();
    }

    private int[] findPredecessors() {
        final IntStream.Builder found = IntStream.builder();
        int count = 0;
        for (int plan = 0; plan < names.size(); plan++) {
            final LatestBlocks latest = new LatestBlocks();
            for (int block = first(plan); block < end(plan); block++) {
                predecessorsFrom[block] = count;
                final int[] before = latest.place(block);
                count += before.length;
                Arrays.stream(before).forEach(found);
            }
        }
        predecessorsFrom[offsets.length] = count;
        return found.build().toArray();
    }

    private long[] findBands() {
        final long[] starts = new long[offsets.length];
        int count = 1;
        long end = Long.MAX_VALUE;
        for (final int block : byOffset(IntStream.range(0, offsets.length))) {
            if (offsets[block] >= end) {
                starts[count++] = offsets[block];
            }
            end = end == Long.MAX_VALUE ? endOf(block) : Math.max(end, endOf(block));
            bandOf[block] = count - 1;
        }
        return Arrays.copyOf(starts, count);
    }

    /** Returns the band that an offset is in. */
    int bandAt(long offset) {
        final int band = Arrays.binarySearch(bandStarts, offset);
        return band < 0 ? -band - 2 : band;
    }

    /** Returns blocks in the order of their offsets. */
    int[] byOffset(IntStream blocks) {
        return blocks.boxed()
                .sorted(Comparator.comparingLong(block -> offsets[block]))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    private int addPlace(long offset) {
        int place = firstPlace(offset);
        while (places[place] != NONE && places[place] != offset) {
            place = nextPlace(place);
        }
        places[place] = offset;
        return place;
    }

    private int firstPlace(long offset) {
        return (int) ((offset * SPREAD) >>> placeShift);
    }

    private int nextPlace(int place) {
        return (place + 1) & (places.length - 1);
    }

    /** Returns the place of an offset, {@link #NONE} if no block begins there. */
    int placeAt(long offset) {
        int place = firstPlace(offset);
        while (places[place] != offset) {
            if (places[place] == NONE) {
                return NONE;
            }
            place = nextPlace(place);
        }
        return place;
    }

    /** Returns the number of places, taken or not. */
    int places() {
        return places.length;
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

    /** Returns the offset behind the last byte of a block. */
    long endOf(int block) {
        return offsets[block] + byteSizes[block];
    }

    boolean overlap(int block, int other) {
        return offsets[block] < endOf(other) && offsets[other] < endOf(block);
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
            if (continuesWith(plan, calls, byteSize) && beginAlike(plan, preferred, calls)) {
                return plan;
            }
        }
        return NONE;
    }

    private boolean continuesWith(int plan, int calls, long byteSize) {
        final int block = firsts[plan] + calls;
        return block < firsts[plan + 1] && byteSizes[block] == byteSize;
    }

    private boolean beginAlike(int plan, int other, int calls) {
        final int first = firsts[plan];
        final int firstOfOther = firsts[other];
        return Arrays.equals(byteSizes, first, first + calls, byteSizes, firstOfOther, firstOfOther + calls);
    }

    /** Returns the bytes that the highest plan needs, above zero. */
    long height() {
        return height;
    }

    /** Returns the number of calls of the longest plan. */
    int mostCalls() {
        return mostCalls;
    }

    @Override
    public String toString() {
        return String.join(";", names);
    }

    /** The block that each byte belonged to last, among the blocks of one plan. */
    private final class LatestBlocks {
        /** By start, what lies there. */
        private final TreeMap<Long, Piece> pieces = new TreeMap<>();

        private record Piece(long end, int block) {}

        /** Places a block, and returns the blocks that its bytes belonged to before. */
        int[] place(int block) {
            final long from = offsets[block];
            final long to = endOf(block);
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
