package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StreamSlotsTest {
    private final SortedTrees trees = new SortedTrees();
    private final StreamSlots slots = new StreamSlots(trees);
    private final FakeStream stream = new FakeStream();
    private final FakeStream other = new FakeStream();

    private Slot findOrAdd(FakeStream stream) {
        final Slot slot = slots.find(stream);
        return slot == null ? slots.add(stream, 1) : slot;
    }

    @Test
    void slotZeroIsUnboundMemory() {
        assertThat(slots.count()).isEqualTo(1);
        assertThat(slots.unbound().stream).isNull();
        assertThat(slots.find(stream)).isNull();
    }

    @Test
    void aStreamKeepsItsSlot() {
        final Slot slot = findOrAdd(stream);
        slot.chunksInUse = 1;
        final Slot second = findOrAdd(other);

        assertThat(second).isNotSameAs(slot);
        assertThat(findOrAdd(stream)).isSameAs(slot);
        assertThat(slots.find(other)).isSameAs(second);
        assertThat(slots.get(slot.number)).isSameAs(slot);
    }

    @Test
    void anUnreferencedSlotIsTakenOver() {
        final Slot slot = findOrAdd(stream);

        assertThat(findOrAdd(other)).isSameAs(slot);
        assertThat(slots.find(stream)).isNull();
        assertThat(slots.count()).isEqualTo(2);
    }

    @Test
    void aSlotWithFreeMemoryIsNot() {
        final Slot slot = findOrAdd(stream);
        trees.ensureSpare(1);
        slot.ensureClasses(1);
        slot.free.add(SizeOrder.key(1, 0x1000), 0);

        assertThat(findOrAdd(other)).isNotSameAs(slot);
    }

    @Test
    void aForgottenSlotWaitsForItsChunks() {
        final Slot slot = findOrAdd(stream);
        slot.chunksInUse = 1;
        slots.forget(slot);

        assertThat(slots.find(stream)).isNull();
        assertThat(findOrAdd(stream)).isNotSameAs(slot);
        slot.chunksInUse = 0;
        assertThat(findOrAdd(other)).isSameAs(slot);
    }

    /** A hundred streams at a time have memory; each slot is visited before long. */
    @Test
    void manyStreamsInTurnTakeFewMoreSlotsThanAreNeededAtOnce() {
        final int atOnce = 100;
        final Slot[] inUse = new Slot[atOnce];
        for (int i = 0; i < 20_000; i++) {
            final Slot left = inUse[i % atOnce];
            if (left != null) {
                left.chunksInUse = 0;
            }
            inUse[i % atOnce] = slots.add(new FakeStream(), 1);
            inUse[i % atOnce].chunksInUse = 1;
        }

        assertThat(slots.count()).isLessThan(atOnce * 5 / 4);
    }

    @Test
    void everyStreamIsFoundUntilItIsForgotten() {
        final List<FakeStream> streams = new ArrayList<>();
        final List<Slot> added = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            streams.add(new FakeStream());
            added.add(slots.add(streams.get(i), 1));
            added.get(i).chunksInUse = 1;
        }
        for (int i = 0; i < 1000; i += 3) {
            slots.forget(added.get(i));
        }

        for (int i = 0; i < 1000; i++) {
            assertThat(slots.find(streams.get(i))).isSameAs(i % 3 == 0 ? null : added.get(i));
        }
    }
}
