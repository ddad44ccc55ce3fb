package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.chunk.StreamSlots.Slot;
import allocator.testkit.FakeStream;
import org.junit.jupiter.api.Test;

class StreamSlotsTest {
    private final SortedTrees trees = new SortedTrees();
    private final StreamSlots slots = new StreamSlots(trees);
    private final FakeStream stream = new FakeStream();
    private final FakeStream other = new FakeStream();

    @Test
    void slotZeroIsUnboundMemory() {
        assertThat(slots.count()).isEqualTo(1);
        assertThat(slots.unbound().stream).isNull();
        assertThat(slots.find(stream)).isNull();
    }

    @Test
    void aStreamKeepsItsSlot() {
        final Slot slot = slots.findOrAdd(stream);
        slot.chunksInUse = 1;
        final Slot second = slots.findOrAdd(other);

        assertThat(second).isNotSameAs(slot);
        assertThat(slots.findOrAdd(stream)).isSameAs(slot);
        assertThat(slots.find(other)).isSameAs(second);
        assertThat(slots.get(slot.number)).isSameAs(slot);
    }

    @Test
    void anUnreferencedSlotIsTakenOver() {
        final Slot slot = slots.findOrAdd(stream);

        assertThat(slots.findOrAdd(other)).isSameAs(slot);
        assertThat(slots.find(stream)).isNull();
        assertThat(slots.count()).isEqualTo(2);
    }

    @Test
    void aSlotWithFreeMemoryIsNot() {
        final Slot slot = slots.findOrAdd(stream);
        trees.ensureSpare(1);
        slot.ensureIndexes(1);
        slot.free.add(SizeOrder.key(1, 0x1000), 0);

        assertThat(slots.findOrAdd(other)).isNotSameAs(slot);
    }

    @Test
    void aForgottenSlotWaitsForItsChunks() {
        final Slot slot = slots.findOrAdd(stream);
        slot.chunksInUse = 1;
        slots.forget(slot);

        assertThat(slots.find(stream)).isNull();
        assertThat(slots.findOrAdd(stream)).isNotSameAs(slot);
        slot.chunksInUse = 0;
        assertThat(slots.findOrAdd(other)).isSameAs(slot);
    }
}
