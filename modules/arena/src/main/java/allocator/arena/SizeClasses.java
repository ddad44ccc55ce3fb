package allocator.arena;

/**
 * Sizes in steps of an eighth: each size up to 16 units, then eight to an octave. Numbered from 1, in order of size.
 */
final class SizeClasses {
    private static final int STEP_BITS = 3;
    private static final int EXACT = 2 << STEP_BITS;

    /** Above every class of a chunk. */
    static final int COUNT = atMost(Chunks.MAX_REGION_UNITS) + 1;

    private SizeClasses() {}

    /** The greatest class whose size is not above {@code units}. */
    static int atMost(long units) {
        if (units < EXACT) {
            return (int) units;
        }
        final int shift = Long.SIZE - 1 - STEP_BITS - Long.numberOfLeadingZeros(units);
        return (shift << STEP_BITS) + (int) (units >>> shift);
    }

    /** The least class whose size is not below {@code units}. */
    static int atLeast(long units) {
        return atMost(units - 1) + 1;
    }

    /** The size of a class in units. */
    static long units(int sizeClass) {
        if (sizeClass < EXACT) {
            return sizeClass;
        }
        final int shift = (sizeClass >>> STEP_BITS) - 1;
        return (long) (sizeClass - (shift << STEP_BITS)) << shift;
    }
}
