package allocator.arena.plan;

import allocator.provider.support.HeapSize;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The offsets at which planned blocks begin, found by hashing, and the live block that begins at each. A place has a
 * record of {@value #WORDS} words and is named by the index of the first.
 *
 * <pre>
 *   word 0  offset, -1 where there is no place       word 2  size of the live block, rounded
 *   word 1  the live block, -1 if there is none      word 3  bytes requested
 * </pre>
 */
final class Places {
    /** No block begins at the offset. */
    static final int NONE = -1;

    static final int WORDS = 4;
    static final int BLOCK = 1;
    static final int SIZE = 2;
    static final int REQUESTED = 3;

    private static final int SHIFT = 2;

    /** Spreads offsets: 2<sup>64</sup> over the golden ratio. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** The records. */
    final long[] words;

    private final int shift;

    /**
     * Makes places.
     *
     * @param offsetsOfBlocks the offsets, each as often as blocks begin there
     */
    Places(long[] offsetsOfBlocks) {
        final long[] distinct =
                Arrays.stream(offsetsOfBlocks).sorted().distinct().toArray();
        final int bits = Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(2 * distinct.length, 2) - 1);
        words = new long[Math.multiplyExact(WORDS, 1 << bits)];
        Arrays.fill(words, NONE);
        shift = Long.SIZE - bits;
        for (final long offset : distinct) {
            int place = first(offset);
            while (words[place] >= 0) {
                place = next(place);
            }
            words[place] = offset;
        }
    }

    private int first(long offset) {
        return (int) ((offset * SPREAD) >>> shift) << SHIFT;
    }

    private int next(int place) {
        return (place + WORDS) & (words.length - 1);
    }

    /** Returns the place of an offset, {@link #NONE} if no block begins there. */
    int find(long offset) {
        int place = first(offset);
        while (words[place] != offset) {
            if (words[place] < 0) {
                return NONE;
            }
            place = next(place);
        }
        return place;
    }

    /** Returns where the places end. */
    int end() {
        return words.length;
    }

    /** Returns the offset of a place. */
    long offset(int place) {
        return words[place];
    }

    /** Returns the live block of a place, {@link PlannedBlocks#NONE} if there is none. */
    int block(int place) {
        return (int) words[place + BLOCK];
    }

    /** Returns the bytes of the live block of a place, padding included. */
    long byteSize(int place) {
        return words[place + SIZE];
    }

    /** Returns the bytes that the caller of the live block of a place requested. */
    long requested(int place) {
        return words[place + REQUESTED];
    }

    /** Returns the bytes of all live blocks. Takes no Java heap. */
    long inUse() {
        return sum(SIZE);
    }

    /** Returns the bytes that the callers of all live blocks requested. Takes no Java heap. */
    long requested() {
        return sum(REQUESTED);
    }

    private long sum(int word) {
        long sum = 0;
        for (int place = 0; place < words.length; place += WORDS) {
            if (block(place) != PlannedBlocks.NONE) {
                sum += words[place + word];
            }
        }
        return sum;
    }

    /** Returns the places with a live block in the order of their offsets. */
    int[] inOrder() {
        return IntStream.iterate(0, place -> place < words.length, place -> place + WORDS)
                .filter(place -> block(place) != PlannedBlocks.NONE)
                .boxed()
                .sorted(Comparator.comparingLong(this::offset))
                .mapToInt(Integer::intValue)
                .toArray();
    }

    long heapBytes() {
        return HeapSize.ofLongs(words.length);
    }
}
