package allocator.arena.chunk;

import java.util.Arrays;

/** The cached chunks of {@link QuickFit}: a stack for each owner and size class, linked through the chunks' records. */
final class ChunkCache {
    private static final int NONE = Chunks.NONE;

    /** The most owners that have stacks. */
    static final int MAX_OWNERS = 64;

    private static final int WORDS = (SizeClasses.COUNT + Long.SIZE - 1) / Long.SIZE;
    private static final int STACKS = WORDS * Long.SIZE;

    private final Chunks chunks;

    /** The top of each stack: a handle plus one, 0 if the stack is empty. */
    private int[] tops = new int[0];

    /** A bit for each stack that has chunks. */
    private long[] filled = new long[0];

    ChunkCache(Chunks chunks) {
        this.chunks = chunks;
    }

    /** Returns the stack of an owner for a class. */
    static int stack(int owner, int sizeClass) {
        return owner * STACKS + sizeClass;
    }

    /** Creates the stacks of an owner below {@value #MAX_OWNERS}, so that the other methods do not allocate. */
    void ensureOwner(int owner) {
        if (stack(owner, 0) >= tops.length) {
            final long[] more = Arrays.copyOf(filled, (owner + 1) * WORDS);
            tops = Arrays.copyOf(tops, (owner + 1) * STACKS);
            filled = more;
        }
    }

    /** Caches a chunk in use. */
    void push(int stack, int chunk, long stamp) {
        final int top = tops[stack];
        if (top == 0) {
            filled[stack >>> 6] |= 1L << stack;
        }
        chunks.setCached(chunk, stack / STACKS, top - 1, stamp);
        tops[stack] = chunk + 1;
    }

    /** Empties all stacks. */
    void clear() {
        Arrays.fill(tops, 0);
        Arrays.fill(filled, 0);
    }

    boolean isFilled(int stack) {
        return tops[stack] != 0;
    }

    /** Removes and returns the chunk pushed last, {@link Chunks#NONE} if the stack is empty; it is in use then. */
    int pop(int stack) {
        final int chunk = tops[stack] - 1;
        if (chunk != NONE) {
            final int below = chunks.below(chunk);
            tops[stack] = below + 1;
            if (below == NONE) {
                filled[stack >>> 6] &= ~(1L << stack);
            }
        }
        return chunk;
    }

    /**
     * Returns the stack of an owner for the greatest class that has chunks, {@link Chunks#NONE} if there is none or if
     * the owner has no stacks.
     */
    int largest(int owner) {
        if (stack(owner, 0) >= tops.length) {
            return NONE;
        }
        for (int word = (owner + 1) * WORDS - 1; word >= owner * WORDS; word--) {
            if (filled[word] != 0) {
                return (word << 6) + Long.SIZE - 1 - Long.numberOfLeadingZeros(filled[word]);
            }
        }
        return NONE;
    }

    /** Returns the stack of any owner for the greatest class that has chunks, {@link Chunks#NONE} if there is none. */
    int largest() {
        int largest = NONE;
        for (int owner = 0; stack(owner, 0) < tops.length; owner++) {
            final int stack = largest(owner);
            if (stack != NONE && (largest == NONE || stack % STACKS > largest % STACKS)) {
                largest = stack;
            }
        }
        return largest;
    }

    /** Returns the number of chunks, in time proportional to it: for the consistency check. */
    int count() {
        int count = 0;
        for (final int top : tops) {
            for (int chunk = top - 1; chunk != NONE; chunk = chunks.below(chunk)) {
                count++;
            }
        }
        return count;
    }
}
