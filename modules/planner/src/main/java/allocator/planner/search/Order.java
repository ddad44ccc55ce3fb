package allocator.planner.search;

import java.util.Comparator;
import java.util.stream.IntStream;

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
    MOST_AREA;

    /** Returns the rank of each block; 0 is placed first. */
    int[] ranks(Sections sections) {
        final Comparator<Integer> bySize = Comparator.comparingLong(b -> -sections.size[b]);
        final Comparator<Integer> byDuration = Comparator.comparingDouble(b -> -sections.duration[b]);
        final Comparator<Integer> byArea = Comparator.comparingDouble(b -> -sections.size[b] * sections.duration[b]);
        final Comparator<Integer> order = switch (this) {
            case FULLEST_LONGEST ->
                byFullest(sections).thenComparing(byDuration).thenComparing(byArea);
            case LONGEST_LARGEST -> byDuration.thenComparing(byArea);
            case MOST_SECTIONS ->
                Comparator.<Integer>comparingInt(b -> sections.from[b] - sections.to[b])
                        .thenComparing(byArea);
            case LARGEST_LONGEST -> bySize.thenComparing(byDuration);
            case MOST_AREA -> byArea.thenComparing(byDuration);
        };
        final int[] ranks = new int[sections.blocks()];
        final int[] next = {0};
        IntStream.range(0, ranks.length)
                .boxed()
                .sorted(order.thenComparing(Comparator.naturalOrder()))
                .forEach(b -> ranks[b] = next[0]++);
        return ranks;
    }

    private static Comparator<Integer> byFullest(Sections sections) {
        final long[] fullest = new long[sections.blocks()];
        for (int b = 0; b < fullest.length; b++) {
            for (int s = sections.from[b]; s < sections.to[b]; s++) {
                fullest[b] = Math.max(fullest[b], sections.total[s]);
            }
        }
        return Comparator.comparingLong(b -> -fullest[b]);
    }
}
