package allocator.planner.search;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * Which of several blocks is placed first: an order of all blocks, by one criterion after another, the largest first.
 */
enum Order {
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
        final long[] keys = new long[sections.blocks()];
        for (int b = 0; b < keys.length; b++) {
            for (int s = sections.from[b]; s < sections.to[b]; s++) {
                keys[b] = Math.min(keys[b], -sections.total[s]);
            }
        }
        return keys;
    }
}
