package allocator.arena.chunk;

import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.IdentityHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The owners of chunks. Slot 0 stands for unbound memory, each of the others for a stream that has memory here.
 *
 * <p>A slot is reused for another stream when it has neither chunks in use nor free memory. A released slot has no
 * stream; what is still in use under it becomes unbound when it is freed.
 */
final class StreamSlots {
    /** The number of the slot of memory that is bound to no stream. */
    static final int UNBOUND = 0;

    /** An owner of chunks. */
    static final class Slot {
        final int number;

        /** The stream; {@code null} for unbound memory, for a released slot and for a vacant one. */
        @Nullable
        SyncStream stream;

        /** Chunks in use, cached ones included, that the stream took. */
        int chunksInUse;

        /** The granules of the largest region that the indexes have room for. */
        private long largestRegion;

        /** The owner's free chunks. */
        final FreeIndex free;

        /** Their untouched heads and tails, under keys of their own; the values are the chunks. */
        final FreeIndex untouchedEnds;

        Slot(int number, SortedTrees trees) {
            this.number = number;
            free = new FreeIndex(trees);
            untouchedEnds = number == UNBOUND ? free : new FreeIndex(trees);
        }

        /** Makes room in the indexes for free memory in a region of {@code granules}. */
        void ensureIndexes(long granules) {
            if (granules > largestRegion) {
                free.ensureClasses(granules);
                untouchedEnds.ensureClasses(granules);
                largestRegion = granules;
            }
        }

        boolean isUnreferenced() {
            return chunksInUse == 0 && free.isEmpty();
        }
    }

    private final SortedTrees trees;
    private Slot[] slots;
    private int count = 1;
    private final IdentityHashMap<SyncStream, Slot> byStream = new IdentityHashMap<>();

    /** The slot looked up last, as one stream usually makes many requests in a row. */
    private Slot latest;

    StreamSlots(SortedTrees trees) {
        this.trees = trees;
        latest = new Slot(UNBOUND, trees);
        slots = new Slot[] {latest};
    }

    /** Returns the number of slots, at least 1. */
    int count() {
        return count;
    }

    /** Returns a slot, most often without a read of the table. */
    Slot get(int number) {
        final Slot slot = latest;
        return slot.number == number ? slot : slots[number];
    }

    /** Returns the slot of unbound memory. */
    Slot unbound() {
        return slots[UNBOUND];
    }

    /** Returns the slot of a stream, {@code null} if it has none. */
    @Nullable
    Slot find(SyncStream stream) {
        final Slot slot = latest;
        return slot.stream != null && slot.stream.id() == stream.id() ? slot : byStream.get(stream);
    }

    /** Returns the slot of a stream, a new one if it has none. */
    Slot findOrAdd(SyncStream stream) {
        Slot slot = find(stream);
        if (slot == null) {
            slot = vacant();
            byStream.put(stream, slot);
            slot.stream = stream;
        }
        latest = slot;
        return slot;
    }

    private Slot vacant() {
        for (int number = 1; number < count; number++) {
            final Slot slot = slots[number];
            if (slot.isUnreferenced()) {
                forget(slot);
                return slot;
            }
        }
        if (count == Chunks.MAX_OWNERS) {
            throw new IllegalStateException(
                    count - 1 + " streams have memory in this arena; release some of them first");
        }
        if (count == slots.length) {
            slots = Arrays.copyOf(slots, count * 2);
        }
        final Slot slot = new Slot(count, trees);
        slots[count++] = slot;
        return slot;
    }

    /** Removes the stream of a slot. */
    void forget(Slot slot) {
        if (slot.stream != null) {
            byStream.remove(slot.stream);
            slot.stream = null;
        }
    }

    /** Returns the bytes of Java heap that the slots take. */
    long bookkeepingBytes() {
        long bytes = HeapSize.ofReferences(slots.length) + HeapSize.ofReferences(2L * 32 + 4L * byStream.size());
        for (int number = 0; number < count; number++) {
            bytes += 40 + slots[number].free.bookkeepingBytes();
            bytes += number == UNBOUND ? 0 : slots[number].untouchedEnds.bookkeepingBytes();
        }
        return bytes;
    }
}
