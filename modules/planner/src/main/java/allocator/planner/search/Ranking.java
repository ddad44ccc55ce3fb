package allocator.planner.search;

import java.util.Arrays;

/** Orders indices by one key after another, the least first, without an object for each. */
final class Ranking {
    /** By index: how many different keys are less. */
    private int[] ranks;

    private Ranking(int[] ranks) {
        this.ranks = ranks;
    }

    /** Begins with the first key. */
    static Ranking by(long[] keys) {
        return new Ranking(dense(keys));
    }

    /** Adds a key for those whose keys so far are equal. */
    Ranking then(long[] keys) {
        final int[] next = dense(keys);
        final long[] pairs = new long[ranks.length];
        Arrays.setAll(pairs, i -> (long) ranks[i] << Integer.SIZE | next[i]);
        ranks = dense(pairs);
        return this;
    }

    /** Returns the indices in their order; those whose keys are all equal by index. */
    int[] order() {
        final long[] pairs = new long[ranks.length];
        Arrays.setAll(pairs, i -> (long) ranks[i] << Integer.SIZE | i);
        Arrays.sort(pairs);
        final int[] order = new int[pairs.length];
        Arrays.setAll(order, i -> (int) pairs[i]);
        return order;
    }

    /** Returns the position of each index in the order. */
    int[] positions() {
        final int[] order = order();
        final int[] positions = new int[order.length];
        for (int i = 0; i < order.length; i++) {
            positions[order[i]] = i;
        }
        return positions;
    }

    private static int[] dense(long[] keys) {
        final long[] distinct = keys.clone();
        Arrays.sort(distinct);
        int count = 0;
        for (int i = 0; i < distinct.length; i++) {
            if (i == 0 || distinct[i] != distinct[count - 1]) {
                distinct[count++] = distinct[i];
            }
        }
        final int end = count;
        final int[] ranks = new int[keys.length];
        Arrays.setAll(ranks, i -> Arrays.binarySearch(distinct, 0, end, keys[i]));
        return ranks;
    }
}
