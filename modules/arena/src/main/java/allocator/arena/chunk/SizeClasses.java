package allocator.arena.chunk;

/**
 * Size classes of at most an eighth apart: each size up to 16 granules, then eight classes to an octave. Classes are
 * numbered from 1, in order of size.
 */
final class SizeClasses {
    private static final int STEP_BITS = 3;
    private static final int EXACT = 2 << STEP_BITS;

    /** Greater than every class of a chunk. */
    static final int COUNT = atMost(Chunks.MAX_REGION_GRANULES) + 1;

    private SizeClasses() {}

    /** Returns the greatest class whose size is at most {@code granules}. */
    static int atMost(long granules) {
        if (granules < EXACT) {
            return (int) granules;
        }
        final int shift = Long.SIZE - 1 - STEP_BITS - Long.numberOfLeadingZeros(granules);
        return (shift << STEP_BITS) + (int) (granules >>> shift);
    }

    /** Returns the least class whose size is at least {@code granules}. */
    static int atLeast(long granules) {
        return atMost(granules - 1) + 1;
    }

    /** Returns the size of a class in granules. */
    static long granules(int sizeClass) {
        if (sizeClass < EXACT) {
            return sizeClass;
        }
        final int shift = (sizeClass >>> STEP_BITS) - 1;
        return (long) (sizeClass - (shift << STEP_BITS)) << shift;
    }
}
