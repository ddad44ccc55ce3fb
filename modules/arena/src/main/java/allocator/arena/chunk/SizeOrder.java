package allocator.arena.chunk;

/**
 * The order of best fit as one number: chunks by size, and chunks of equal size by address.
 *
 * <pre>
 *   octave | size beyond 2^octave | address / (256 * 2^octave)
 *     6    |       octave         |       56 - octave           bits
 * </pre>
 *
 * <p>The octave is the binary logarithm of the size in granules. Two chunks of one octave cannot start within the same
 * 256 * 2^octave bytes, as each of them is at least that long. So nothing is lost by the division, and the key of a
 * free chunk is unique in the whole 64-bit address space. It is never negative.
 */
public final class SizeOrder {
    /** The bits below the octave. */
    static final int OCTAVE_SHIFT = 56;

    /** Greater than every key. */
    static final long END = Long.MAX_VALUE;

    private SizeOrder() {}

    /** Returns the key of a chunk. */
    static long key(long granules, long address) {
        final int octave = octave(granules);
        return first(granules, octave) | (address >>> (Granules.SHIFT + octave));
    }

    /** Returns the least key of a chunk of {@code granules} or more. */
    public static long first(long granules) {
        return first(granules, octave(granules));
    }

    /** Returns the granules of the chunk with a key. */
    public static long granules(long key) {
        final int octave = (int) (key >>> OCTAVE_SHIFT);
        return (1L << octave) | ((key & ((1L << OCTAVE_SHIFT) - 1)) >>> (OCTAVE_SHIFT - octave));
    }

    private static long first(long granules, int octave) {
        return ((long) octave << OCTAVE_SHIFT) | ((granules ^ (1L << octave)) << (OCTAVE_SHIFT - octave));
    }

    private static int octave(long granules) {
        return Long.SIZE - 1 - Long.numberOfLeadingZeros(granules);
    }
}
