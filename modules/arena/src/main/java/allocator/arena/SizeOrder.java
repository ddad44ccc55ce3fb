package allocator.arena;

/**
 * Best fit as one number: free chunks in order of size, and of address among equal sizes.
 *
 * <pre>
 *   octave | size beyond 2^octave | address / (256 * 2^octave)
 *     6    |       octave         |       56 - octave           bits
 * </pre>
 *
 * <p>The octave is the logarithm of the size in units. Two chunks of one octave cannot start within the same 256 *
 * 2^octave bytes, as each of them is at least that long; so the address loses nothing by the division, and the key of a
 * free chunk is unique over the whole 64-bit address space. It is never negative.
 */
final class SizeOrder {
    /** The bits below the octave. */
    static final int OCTAVE_SHIFT = 56;

    /** Above every key. */
    static final long END = Long.MAX_VALUE;

    private SizeOrder() {}

    /** The key of a chunk. */
    static long key(long units, long address) {
        final int octave = octave(units);
        return first(units, octave) | (address >>> (Units.SHIFT + octave));
    }

    /** The least key that a chunk of {@code units} or more can have. */
    static long first(long units) {
        return first(units, octave(units));
    }

    /** The units of the chunk with a key. */
    static long units(long key) {
        final int octave = (int) (key >>> OCTAVE_SHIFT);
        return (1L << octave) | ((key & ((1L << OCTAVE_SHIFT) - 1)) >>> (OCTAVE_SHIFT - octave));
    }

    private static long first(long units, int octave) {
        return ((long) octave << OCTAVE_SHIFT) | ((units ^ (1L << octave)) << (OCTAVE_SHIFT - octave));
    }

    private static int octave(long units) {
        return Long.SIZE - 1 - Long.numberOfLeadingZeros(units);
    }
}
