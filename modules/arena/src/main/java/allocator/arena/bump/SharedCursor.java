package allocator.arena.bump;

import java.io.Serial;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * Where a {@link SharedBumpArena} allocates: the next free address of one region in one generation, moved by
 * compare-and-set. A reset replaces the cursor, so a block that is still allocated through the replaced one belongs to
 * the generation that has ended.
 */
final class SharedCursor extends AtomicLong {
    @Serial
    private static final long serialVersionUID = 1L;

    private static final AtomicLongFieldUpdater<SharedCursor> PADDING =
            AtomicLongFieldUpdater.newUpdater(SharedCursor.class, "padding");

    /** Increases with every reset. */
    final long generation;

    /** The index of the region; -1 if the arena has none. */
    final int index;

    /** The first address after the region; 0 if there is none, so that nothing fits. */
    final long end;

    private final long base;

    /** The sum of the sizes of the regions before this one. */
    private final long position;

    /** The cursor of the region before, in the same generation. */
    private final transient @Nullable SharedCursor previous;

    /**
     * Bytes lost to alignment and at the end of this region. Beside the address, which the thread that adds has just
     * moved, so that the cache line is its own.
     */
    private volatile long padding;

    private SharedCursor(int index, RegionStack chain, long generation, @Nullable SharedCursor previous) {
        super(chain.regions.get(index).base());
        this.index = index;
        this.generation = generation;
        this.previous = previous;
        base = get();
        end = base + chain.regions.get(index).byteSize;
        position = chain.byteSize(index);
    }

    private SharedCursor(long generation) {
        this.index = -1;
        this.generation = generation;
        previous = null;
        base = 0;
        end = 0;
        position = 0;
    }

    /** Returns the cursor of a generation in which there is no region yet. */
    static SharedCursor nowhere(long generation) {
        return new SharedCursor(generation);
    }

    /** Returns the cursor of a generation that begins, at the first region of a chain if it has one. */
    static SharedCursor atStart(RegionStack chain, long generation) {
        return chain.count() == 0 ? nowhere(generation) : new SharedCursor(0, chain, generation, null);
    }

    /** Returns the cursor at the start of a later region, in the same generation. Regions left out are padding. */
    SharedCursor inRegion(int next, RegionStack chain) {
        final SharedCursor cursor = new SharedCursor(next, chain, generation, this);
        cursor.padding = cursor.position - (position + end - base);
        return cursor;
    }

    /** Returns the bytes used in this generation, padding included. */
    long bytesInUse() {
        return position + (get() - base);
    }

    /** Adds to the padding of this generation. */
    void addPadding(long bytes) {
        PADDING.getAndAdd(this, bytes);
    }

    /** Returns the bytes of this generation lost to alignment and at the ends of regions. */
    long paddingBytes() {
        long sum = 0;
        for (SharedCursor cursor = this; cursor != null; cursor = cursor.previous) {
            sum += cursor.padding;
        }
        return sum;
    }

    /** Uses the rest of the region as padding, and so prevents further allocations. */
    void fill() {
        addPadding(end - getAndSet(end));
    }
}
