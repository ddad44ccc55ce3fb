package allocator.arena;

import java.util.Arrays;

/** Chunks that an owner freed and that were not merged, by class of size: stacks that are threaded through the records. */
final class KeptChunks {
    private static final int NONE = Chunks.NONE;

    private final Chunks chunks;
    private final int[] tops = new int[SizeClasses.COUNT];

    /** A bit for each class that has chunks. */
    private final long[] filled = new long[(SizeClasses.COUNT + Long.SIZE - 1) / Long.SIZE];

    private int count;

    KeptChunks(Chunks chunks) {
        this.chunks = chunks;
        Arrays.fill(tops, NONE);
    }

    int count() {
        return count;
    }

    /** Keeps a chunk that is in use. */
    void push(int sizeClass, int chunk, int owner, long stamp) {
        chunks.setKept(chunk, owner, tops[sizeClass], stamp);
        tops[sizeClass] = chunk;
        filled[sizeClass >>> 6] |= 1L << sizeClass;
        count++;
    }

    /** Takes the chunk that was kept last of a class, {@link Chunks#NONE} if there is none; it is in use then. */
    int pop(int sizeClass) {
        final int chunk = tops[sizeClass];
        if (chunk != NONE) {
            final int below = chunks.below(chunk);
            tops[sizeClass] = below;
            if (below == NONE) {
                filled[sizeClass >>> 6] &= ~(1L << sizeClass);
            }
            count--;
        }
        return chunk;
    }

    /** The greatest class that has chunks, 0 if there is none. */
    int largestClass() {
        for (int word = filled.length - 1; word >= 0; word--) {
            if (filled[word] != 0) {
                return (word << 6) + Long.SIZE - 1 - Long.numberOfLeadingZeros(filled[word]);
            }
        }
        return 0;
    }

    /** Bytes of Java heap that the stacks take. */
    long bookkeepingBytes() {
        return HeapSize.ofInts(tops.length) + HeapSize.ofLongs(filled.length);
    }
}
