package allocator.arena.chunk;

import allocator.spi.SyncStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The owners of chunks. Slot 0 stands for unbound memory, each of the others for a stream that has memory here.
 *
 * <p>A slot is reused for another stream when it has neither chunks in use nor free memory. A released slot has no
 * stream; what is still in use under it becomes unbound when it is freed.
 *
 * <p>Each owner has indexes of its own. With more than {@value #FEW} slots there are {@linkplain #all indexes} of the
 * free memory of all streams as well, so that a search need not visit each of them.
 *
 * <p>Changes are made while {@link BestFit#step} says that the indexes may be torn: {@link Repair} rebuilds them.
 */
public final class StreamSlots {
    /** The number of the slot of memory that is bound to no stream. */
    static final int UNBOUND = 0;

    /** The most slots that are visited one by one. */
    static final int FEW = 8;

    /** The most entries for which one of few slots makes no classes, where these are made late. */
    static final int FEW_ENTRIES = 4;

    private static final int AT_ONCE = -1;

    /** How many slots are visited to find one that is vacant. */
    private static final int VISITS = 8;

    /** The golden ratio's fraction: spreads stream ids. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    /** An owner of chunks. */
    public static final class Slot extends FreeIndexes {
        int number;

        /** The stream; {@code null} for unbound memory, for a released slot and for a vacant one. */
        @Nullable
        SyncStream stream;

        private long streamId;

        /** The next slot in its chain of the table of streams. */
        private @Nullable Slot next;

        /** Chunks in use, slabs included, that the stream took. */
        int chunksInUse;

        private Slot(int number, FreeIndex free, FreeIndex untouchedEnds) {
            super(free, untouchedEnds);
            this.number = number;
        }

        /** Returns the id of the stream; 0 if the slot has none. Calls no stream. */
        long streamId() {
            return stream == null ? 0 : streamId;
        }

        /** Returns whether the slot needs classes for free memory in a region of {@code granules}. */
        boolean needsClasses(long granules, int fewEntries) {
            return needClasses(granules, number < FEW ? fewEntries : FreeIndexes.FEW);
        }

        boolean isUnreferenced() {
            return chunksInUse == 0 && free.isEmpty();
        }
    }

    private final SortedTrees trees;

    /** The most entries for which one of few slots makes no classes: they are faster, and take Java heap. */
    int fewEntries = AT_ONCE;

    /** By number; the length is a power of two. */
    private Slot[] slots;

    private int count = 1;

    /** The slots with a stream, in chains by a hash of the stream's id; as long as {@link #slots}. */
    private @Nullable Slot[] byStream;

    /** The slot looked up last, as one stream usually makes many requests in a row. */
    private Slot latest;

    /** The slot visited last in search of a vacant one. */
    private int hand;

    /** The indexes of all owners but slot 0; {@code null} as long as there are few slots. */
    @Nullable
    FreeIndexes all;

    StreamSlots(SortedTrees trees) {
        this.trees = trees;
        final FreeIndex unbound = new FreeIndex(trees);
        latest = new Slot(UNBOUND, unbound, unbound);
        slots = new Slot[FEW];
        slots[UNBOUND] = latest;
        byStream = new Slot[FEW];
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
        return slot.stream != null && slot.stream.id() == stream.id() ? slot : find(stream.id());
    }

    /** Returns the slot of the stream with an id, {@code null} if it has none. */
    @Nullable
    Slot find(long streamId) {
        Slot slot = byStream[chain(streamId)];
        while (slot != null && slot.streamId != streamId) {
            slot = slot.next;
        }
        return slot;
    }

    /** Remembers the slot of a stream that is about to make more requests. */
    void setLatest(Slot slot) {
        latest = slot;
    }

    /**
     * Adds a stream that has no slot.
     *
     * @param stream the stream
     * @param largestRegion the granules of the largest region
     */
    Slot add(SyncStream stream, long largestRegion) {
        final long streamId = stream.id(); // a call, which may fail: stream and id of a slot belong together
        final Slot vacant = vacant();
        final Slot slot = vacant == null ? addSlot(largestRegion) : vacant;
        slot.streamId = streamId;
        slot.stream = stream;
        enter(slot);
        return slot;
    }

    /**
     * Returns a vacant slot, {@code null} if there is none among the next few. As each stream that is added visits a
     * few slots in turn, there are at most about a seventh more slots than were ever needed at once.
     */
    private @Nullable Slot vacant() {
        if (count <= VISITS) {
            hand = UNBOUND;
        }
        for (int visits = Math.min(VISITS, count - 1); visits > 0; visits--) {
            hand = hand + 1 < count ? hand + 1 : 1;
            final Slot slot = slots[hand];
            if (slot.isUnreferenced()) {
                forget(slot);
                return slot;
            }
        }
        return null;
    }

    private Slot addSlot(long largestRegion) {
        if (count == Chunks.MAX_OWNERS) {
            throw new IllegalStateException(
                    count - 1 + " streams have memory in this arena; release some of them first");
        }
        if (all == null && count == FEW) {
            all = indexAll(largestRegion);
        }
        if (count == slots.length) {
            grow();
        }
        final Slot slot = new Slot(count, new FreeIndex(trees), new FreeIndex(trees));
        slots[count++] = slot;
        return slot;
    }

    private void grow() {
        final Slot[] more = Arrays.copyOf(slots, count * 2);
        final Slot[] chains = new Slot[count * 2];
        slots = more;
        byStream = chains;
        relist();
    }

    private FreeIndexes indexAll(long largestRegion) {
        final FreeIndexes indexes = new FreeIndexes(new FreeIndex(trees), new FreeIndex(trees));
        indexes.ensureClasses(largestRegion);
        for (int number = 1; number < count; number++) {
            indexes.addAll(slots[number], trees);
        }
        return indexes;
    }

    /** Makes the classes for free memory in a region of {@code granules}, which is about to be added. */
    void ensureClasses(long granules) {
        if (unbound().needsClasses(granules, fewEntries)) {
            unbound().ensureClasses(granules);
        }
        final FreeIndexes indexes = all;
        if (indexes != null) {
            indexes.ensureClasses(granules);
        }
    }

    private int chain(long streamId) {
        return (int) ((streamId * SPREAD) >>> (Integer.numberOfLeadingZeros(byStream.length) + Integer.SIZE + 1));
    }

    private void enter(Slot slot) {
        final int chain = chain(slot.streamId);
        slot.next = byStream[chain];
        byStream[chain] = slot;
    }

    /** Rebuilds the table of streams from the slots. */
    void relist() {
        Arrays.fill(byStream, null);
        for (int number = 1; number < count; number++) {
            if (slots[number].stream != null) {
                enter(slots[number]);
            }
        }
    }

    /** Empties all indexes, once all nodes of the trees are back in their pool, and counts no chunk in use. */
    void clear() {
        for (int number = 0; number < count; number++) {
            slots[number].chunksInUse = 0;
            slots[number].clear();
        }
        final FreeIndexes indexes = all;
        if (indexes != null) {
            indexes.clear();
        }
    }

    /** Removes the stream of a slot. */
    void forget(Slot slot) {
        if (slot.stream == null) {
            return;
        }
        slot.stream = null;
        final int chain = chain(slot.streamId);
        Slot before = byStream[chain];
        if (before == slot) {
            byStream[chain] = slot.next;
            return;
        }
        while (before != null && before.next != slot) {
            before = before.next;
        }
        if (before != null) {
            before.next = slot.next;
        }
    }

    /** Returns whether the table is much larger than the slots that have memory. */
    boolean isSparse() {
        int referenced = 0;
        for (int number = 0; number < count; number++) {
            referenced += slots[number].isUnreferenced() ? 0 : 1;
        }
        return slots.length > 2 * FEW && referenced < slots.length / 8;
    }

    /** Returns a smaller table, of the slots that have memory. */
    Smaller smaller() {
        return new Smaller();
    }

    /** Replaces the table by a smaller one, and renumbers the slots. The indexes are torn then. */
    void become(Smaller smaller) {
        latest = slots[UNBOUND];
        for (int number = 1; number < count; number++) {
            final Slot slot = slots[number];
            final int newNumber = smaller.numbers[number];
            if (newNumber == UNBOUND) {
                slot.stream = null;
            } else {
                slot.number = newNumber;
                if (!slot.isCrowded() && (fewEntries != AT_ONCE || newNumber >= FEW)) {
                    slot.reset();
                }
            }
        }
        slots = smaller.slots;
        byStream = smaller.byStream;
        count = smaller.count;
        hand = UNBOUND;
        if (count <= FEW) {
            all = null;
        }
        relist();
    }

    /** A smaller table. */
    final class Smaller {
        private final int[] numbers = new int[StreamSlots.this.count];
        private final Slot[] slots;
        private final @Nullable Slot[] byStream;
        private int count = 1;

        private Smaller() {
            for (int number = 1; number < numbers.length; number++) {
                if (!StreamSlots.this.slots[number].isUnreferenced()) {
                    numbers[number] = count++;
                }
            }
            final int length = Math.max(Integer.highestOneBit(count) * 2, FEW);
            slots = new Slot[length];
            byStream = new Slot[length];
            for (int number = 0; number < numbers.length; number++) {
                if (number == UNBOUND || numbers[number] != UNBOUND) {
                    slots[numbers[number]] = StreamSlots.this.slots[number];
                }
            }
        }

        /** Returns the new number of a slot that has memory, and of slot 0. */
        int number(int number) {
            return numbers[number];
        }
    }
}
