package allocator.planner.search;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/** The order in which blocks are placed: of all blocks, by one criterion after another, the largest first. */
enum Order {
    /** The fullest section, then the size. */
    FULLEST_LARGEST,
    /** The fullest section, then the longest lifetime. */
    FULLEST_LONGEST,
    /** The longest lifetime, then the area. */
    LONGEST_LARGEST,
    /** The most sections, then the area. */
    MOST_SECTIONS,
    /** The size, then the longest lifetime. */
    LARGEST_LONGEST,
    /** The area: size by lifetime. */
    MOST_AREA,
    /** The earliest beginning, then the longest lifetime: as an allocator would that knows when each block ends. */
    EARLIEST_LONGEST;

    /** Returns the rank of each block; 0 is placed first. */
    int[] ranks(Sections sections) {
        final long[] bySize = new long[sections.blocks()];
        Arrays.setAll(bySize, b -> -sections.size[b]);
        final long[] byDuration = decreasing(bySize.length, b -> sections.duration[b]);
        final long[] byArea = decreasing(bySize.length, b -> sections.size[b] * sections.duration[b]);
        final Ranking ranking = switch (this) {
            case FULLEST_LONGEST ->
                Ranking.by(byFullest(sections)).then(byDuration).then(byArea);
            case FULLEST_LARGEST -> Ranking.by(byFullest(sections)).then(bySize);
            case LONGEST_LARGEST -> Ranking.by(byDuration).then(byArea);
            case MOST_SECTIONS -> Ranking.by(bySections(sections)).then(byArea);
            case LARGEST_LONGEST -> Ranking.by(bySize).then(byDuration);
            case MOST_AREA -> Ranking.by(byArea).then(byDuration);
            case EARLIEST_LONGEST -> Ranking.by(byBeginning(sections)).then(byDuration);
        };
        return ranking.positions();
    }

    /** Returns keys that decrease as values from 0 increase. */
    private static long[] decreasing(int count, IntToDoubleFunction value) {
        final long[] keys = new long[count];
        Arrays.setAll(keys, i -> -Double.doubleToLongBits(value.applyAsDouble(i)));
        return keys;
    }

    private static long[] byBeginning(Sections sections) {
        return Arrays.stream(sections.from).asLongStream().toArray();
    }

    private static long[] bySections(Sections sections) {
        final long[] keys = new long[sections.blocks()];
        Arrays.setAll(keys, b -> sections.from[b] - sections.to[b]);
        return keys;
    }

    private static long[] byFullest(Sections sections) {
        final int count = sections.count;
        // The largest total within each node of a tree over the sections, whose leaves are the second half.
        final long[] fullest = new long[2 * count];
        System.arraycopy(sections.total, 0, fullest, count, count);
        for (int node = count - 1; node > 0; node--) {
            fullest[node] = Math.max(fullest[2 * node], fullest[2 * node + 1]);
        }
        final long[] keys = new long[sections.blocks()];
        for (int b = 0; b < keys.length; b++) {
            for (int low = sections.from[b] + count, high = sections.to[b] + count; low < high; low /= 2, high /= 2) {
                keys[b] = Math.min(keys[b], (low & 1) == 1 ? -fullest[low++] : 0);
                keys[b] = Math.min(keys[b], (high & 1) == 1 ? -fullest[--high] : 0);
            }
        }
        return keys;
    }
}
