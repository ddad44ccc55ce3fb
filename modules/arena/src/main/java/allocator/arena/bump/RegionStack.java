package allocator.arena.bump;

import allocator.provider.support.Limit;
import allocator.spi.Allocator;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/**
 * Memory taken from one allocator, in the order in which it was taken, and returned from an index on: the regions of a
 * {@link ChainedArena}, or the blocks of its fallback allocator.
 *
 * <p>Not safe for use by several threads.
 */
final class RegionStack {
    /** A region or a block, and the generation of the arena in which it was taken. */
    static final class Entry extends BumpRegion {
        /** The generation; above all others once the memory is unused. */
        private long generation;

        private Entry(long byteSize, long generation) {
            super(byteSize);
            this.generation = generation;
        }

        long generation() {
            return generation;
        }
    }

    final Upstream upstream;

    /** Has an initial capacity, without which {@link ArrayList#ensureCapacity} may defer the allocation. */
    private final ArrayList<Entry> entries = new ArrayList<>(4);

    RegionStack(Allocator upstream) {
        this.upstream = new Upstream(upstream, Limit.NONE);
    }

    int count() {
        return entries.size();
    }

    Entry get(int index) {
        return entries.get(index);
    }

    /** Returns the sum of the sizes of the first entries. */
    long byteSize(int first) {
        long sum = 0;
        for (int index = 0; index < first; index++) {
            sum += entries.get(index).byteSize;
        }
        return sum;
    }

    /**
     * Takes memory. Room on the Java heap is made before the allocator is called.
     *
     * @throws OutOfMemoryException if the allocator is out of memory; nothing changes, as after anything else that is
     *     thrown
     */
    Entry take(long byteSize, long generation) {
        final Entry entry = new Entry(byteSize, generation);
        entries.ensureCapacity(entries.size() + 1);
        entry.placeAt(upstream.take(byteSize));
        entries.add(entry);
        return entry;
    }

    /** Returns the entry that contains an address, {@code null} if none does. */
    @Nullable
    Entry find(long address) {
        for (final Entry entry : entries) {
            if (entry.contains(address)) {
                return entry;
            }
        }
        return null;
    }

    /** Returns the entries from an index on, the last one first. One that could not be returned stays, unused. */
    void releaseFrom(int first) {
        for (int index = entries.size() - 1; index >= first; index--) {
            final Entry entry = entries.get(index);
            entry.generation = Long.MAX_VALUE;
            if (upstream.giveBack(entry.base(), entry.byteSize)) {
                entries.remove(index);
            }
        }
    }

    /**
     * Returns the first index, from {@code from} on, of an unused region that fits a request; {@link #count} if none.
     */
    int firstWithRoom(int from, long byteSize, long byteAlignment) {
        int index = from;
        while (index < entries.size()
                && entries.get(index).byteSize - entries.get(index).align(0, byteAlignment) < byteSize) {
            index++;
        }
        return index;
    }
}
