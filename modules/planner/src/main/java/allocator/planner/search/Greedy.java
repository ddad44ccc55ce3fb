package allocator.planner.search;

import java.util.Arrays;

/**
 * Places blocks one by one, in any order, each into the lowest gap between the placed blocks that it overlaps, and
 * takes them out again. Consecutive sections share a list of the placed blocks that live in them, by their offsets, so
 * that a block costs the blocks of its lists below where it comes to lie.
 */
final class Greedy {
    /** The most lists that a block is in, on average. */
    private static final int MOST_LISTS = 4;

    private static final int[] NONE = {};

    final long[] offsets;
    private final Sections sections;
    private final Effort effort;

    /** The lists of a block are those of its sections, shifted. */
    private final int shift;

    private final int[][] lists;
    private final int[] counts;

    /** For each list of the block that is placed, what lies below its offset. */
    private final int[] passed;

    Greedy(Sections sections, Effort effort) {
        this.sections = sections;
        this.effort = effort;
        offsets = new long[sections.blocks()];
        int bits = 0;
        while (entries(bits) > (long) MOST_LISTS * offsets.length) {
            bits++;
        }
        shift = bits;
        lists = new int[list(sections.count) + 1][];
        Arrays.fill(lists, NONE);
        counts = new int[lists.length];
        passed = new int[lists.length];
    }

    private long entries(int bits) {
        long entries = 0;
        for (int b = 0; b < offsets.length; b++) {
            entries += ((sections.to[b] - 1) >> bits) - (sections.from[b] >> bits) + 1;
        }
        return entries;
    }

    private int list(int section) {
        return section >> shift;
    }

    /** Places all blocks; returns their offsets, or none if one is not below a height, or the effort is over. */
    static long[] place(Sections sections, int[] ranks, long below, Effort effort) {
        final int[] order = new int[ranks.length];
        for (int b = 0; b < ranks.length; b++) {
            order[ranks[b]] = b;
        }
        final Greedy greedy = new Greedy(sections, effort);
        for (final int b : order) {
            final long offset = greedy.lowestGap(b);
            if (offset >= below - sections.size[b] || !effort.step()) {
                return new long[0];
            }
            greedy.placeAt(b, offset);
        }
        return greedy.offsets;
    }

    /** Places a block at an offset. */
    void placeAt(int block, long offset) {
        offsets[block] = offset;
        for (int l = list(sections.from[block]); l <= list(sections.to[block] - 1); l++) {
            if (counts[l] == lists[l].length) {
                lists[l] = Arrays.copyOf(lists[l], Math.max(8, 2 * counts[l]));
            }
            final int at = position(l, offset);
            System.arraycopy(lists[l], at, lists[l], at + 1, counts[l] - at);
            lists[l][at] = block;
            counts[l]++;
        }
    }

    /** Takes a block out. */
    void remove(int block) {
        for (int l = list(sections.from[block]); l <= list(sections.to[block] - 1); l++) {
            int at = position(l, offsets[block]);
            while (lists[l][at] != block) {
                at++;
            }
            counts[l]--;
            System.arraycopy(lists[l], at + 1, lists[l], at, counts[l] - at);
        }
    }

    /** Returns the first position in a list whose block lies at an offset or above. */
    private int position(int list, long offset) {
        int low = 0;
        int high = counts[list];
        while (low < high) {
            final int middle = (low + high) >>> 1;
            if (offsets[lists[list][middle]] < offset) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Returns the offset of the lowest gap for a block; the largest {@code long} if there is none. */
    long lowestGap(int block) {
        final int start = sections.from[block];
        final int end = sections.to[block];
        final long size = sections.size[block];
        final int first = list(start);
        final int lists = list(end - 1) - first + 1;
        Arrays.fill(passed, first, first + lists, 0);
        long offset = 0;
        // Each list raises the offset above what is in the way; ends once none has in a row.
        for (int l = first, still = 0; still < lists; l = l + 1 == first + lists ? first : l + 1) {
            final int[] list = this.lists[l];
            final long before = offset;
            int i = passed[l];
            for (; i < counts[l]; i++) {
                final int other = list[i];
                if (offsets[other] - offset >= size) {
                    break;
                }
                if (sections.from[other] < end && sections.to[other] > start) {
                    final long top = offsets[other] + sections.size[other];
                    if (top > offset) {
                        if (top > Long.MAX_VALUE - sections.alignment[block]) {
                            return Long.MAX_VALUE;
                        }
                        offset = Problem.roundUp(top, sections.alignment[block]);
                    }
                }
            }
            effort.spend(1L + i - passed[l]);
            passed[l] = i;
            still = offset > before ? 1 : still + 1;
        }
        return offset;
    }
}
