package allocator.arena;

import allocator.spi.SyncStream;
import java.util.Arrays;
import java.util.IdentityHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The owners of chunks: slot 0 is nobody, the others are streams that have memory here.
 *
 * <p>A slot is taken over by another stream when nothing refers to it any more: no chunk in use and no free memory. A
 * released slot has no stream; what is still in use under it becomes nobody's when it is freed.
 */
final class StreamSlots {
    /** Nobody: memory that no stream is known to use. */
    static final int UNTIED = 0;

    /** An owner. */
    static final class Slot {
        final int number;

        /** The stream; {@code null} for nobody, for a released slot and for a vacant one. */
        @Nullable
        SyncStream stream;

        /** Chunks in use that the stream took. */
        int chunksInUse;

        /** The units of the largest region that the indexes are made for. */
        private long largestRegion;

        /** The owner's free chunks. */
        final FreeIndex free;

        /** The clean ends of them: keys are those of the ends, values the chunks. */
        final FreeIndex cleanEnds;

        Slot(int number, SortedTrees trees) {
            this.number = number;
            free = new FreeIndex(trees);
            cleanEnds = number == UNTIED ? free : new FreeIndex(trees);
        }

        /** Makes room in the indexes for free memory in a region of {@code units}. */
        void ensureIndexes(long units) {
            if (units > largestRegion) {
                free.ensureClasses(units);
                cleanEnds.ensureClasses(units);
                largestRegion = units;
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

    /** The slot of the stream that was looked up last, as one stream usually asks many times in a row. */
    private Slot latest;

    StreamSlots(SortedTrees trees) {
        this.trees = trees;
        latest = new Slot(UNTIED, trees);
        slots = new Slot[] {latest};
    }

    /** How many slots there are; slot 0 is always there. */
    int count() {
        return count;
    }

    /** A slot, as a rule without a look at the table. */
    Slot get(int number) {
        final Slot slot = latest;
        return slot.number == number ? slot : slots[number];
    }

    Slot untied() {
        return slots[UNTIED];
    }

    /** The slot of a stream, {@code null} if it has none. */
    @Nullable
    Slot find(SyncStream stream) {
        final Slot slot = latest;
        return slot.stream != null && slot.stream.id() == stream.id() ? slot : byStream.get(stream);
    }

    /** The slot of a stream, a new one if it has none. */
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

    /** Cuts the tie between a slot and its stream. */
    void forget(Slot slot) {
        if (slot.stream != null) {
            byStream.remove(slot.stream);
            slot.stream = null;
        }
    }

    /** Bytes of Java heap that the slots take. */
    long bookkeepingBytes() {
        long bytes = HeapSize.ofReferences(slots.length) + HeapSize.ofReferences(2L * 32 + 4L * byStream.size());
        for (int number = 0; number < count; number++) {
            bytes += 40 + slots[number].free.bookkeepingBytes();
            bytes += number == UNTIED ? 0 : slots[number].cleanEnds.bookkeepingBytes();
        }
        return bytes;
    }
}
