package allocator.arena.bump;

import java.io.Serial;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * Where a {@link SharedBumpArena} allocates: the next free address of one region in one generation, moved by
 * compare-and-set. A reset replaces the cursor, so a block that is still allocated through the replaced one belongs to
 * the generation that has ended.
 */
final class SharedCursor extends AtomicLong {
    @Serial
    private static final long serialVersionUID = 1L;

    /** Increases with every reset. */
    final long generation;

    /** The index of the region; -1 if the arena has none. */
    final int index;

    /** The first address after the region; 0 if there is none, so that nothing fits. */
    final long end;

    /** Bytes of this generation lost to alignment and at the ends of regions. */
    final transient Padding paddingBytes;

    private final long base;

    /** The sum of the sizes of the regions before this one. */
    private final long position;

    private SharedCursor(int index, @Nullable SequentialRegion region, long generation, Padding paddingBytes) {
        super(region == null ? 0 : region.base());
        this.index = index;
        this.generation = generation;
        this.paddingBytes = paddingBytes;
        base = get();
        end = region == null ? 0 : base + region.byteSize;
        position = region == null ? 0 : region.position;
    }

    /** Returns the cursor of a generation in which there is no region yet. */
    static SharedCursor nowhere(long generation) {
        return new SharedCursor(-1, null, generation, new Padding());
    }

    /** Returns the cursor of a generation that begins, at the first region of a chain if it has one. */
    static SharedCursor atStart(RegionChain chain, long generation) {
        return chain.count() == 0 ? nowhere(generation) : new SharedCursor(0, chain.get(0), generation, new Padding());
    }

    /** Returns the cursor at the start of a later region, in the same generation. */
    SharedCursor inRegion(int next, SequentialRegion region) {
        return new SharedCursor(next, region, generation, paddingBytes);
    }

    /** Returns the bytes used in this generation, padding included. */
    long bytesInUse() {
        return position + (get() - base);
    }

    /** Uses what is left of the region as padding, and so prevents further allocations. */
    void fill() {
        final long next = getAndSet(end);
        paddingBytes.add(end - next);
    }

    /**
     * A sum to which several threads add, mostly each in a cache line of its own. All cells are made at the start:
     * unlike a {@link java.util.concurrent.atomic.LongAdder}, adding never takes Java heap, so it may follow the step
     * that takes a block.
     */
    static final class Padding {
        /** Longs from one cell to the next: a cache line of 64 bytes. */
        private static final int SPACING = 8;

        private static final int MOST_CELLS = 16;

        /** One less than the number of cells, a power of two. */
        private static final int MASK = Math.min(
                        MOST_CELLS,
                        Integer.highestOneBit(2 * Runtime.getRuntime().availableProcessors() - 1))
                - 1;

        static {
            new Padding().add(0); // links the calls below, which takes heap once
        }

        private final AtomicLongArray cells = new AtomicLongArray((MASK + 1) * SPACING);

        /** What threads at the end of their stack could not add to a cell. */
        private volatile long rest;

        /** Adds a number of bytes, whatever heap and stack are left. */
        @SuppressWarnings("NonAtomicVolatileUpdate") // any call may need more stack than there is
        void add(long bytes) {
            try {
                cells.getAndAdd(((int) Thread.currentThread().threadId() & MASK) * SPACING, bytes);
            } catch (StackOverflowError e) {
                rest += bytes;
            }
        }

        /** Returns the sum; what is added meanwhile may be missing. */
        long sum() {
            long sum = rest;
            for (int cell = 0; cell <= MASK; cell++) {
                sum += cells.get(cell * SPACING);
            }
            return sum;
        }
    }
}
