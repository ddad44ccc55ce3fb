package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.bench.subject.Slots;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlayerTest {
    /** Slots that know what is in them. */
    private static final class CheckedSlots extends Slots {
        private final Map<Integer, Integer> live = new HashMap<>();
        private int calls;
        private int touched;

        @Override
        public void alloc(int slot, int byteSize) {
            calls++;
            assertTrue(byteSize > 0 && live.put(slot, byteSize) == null, () -> "slot " + slot + " is in use");
        }

        @Override
        public void free(int slot) {
            calls++;
            assertTrue(live.remove(slot) != null, () -> "slot " + slot + " is empty");
        }

        @Override
        public void touch(int slot, int byteSize) {
            touched++;
            assertEquals(live.get(slot), byteSize);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"large", "replay", "small", "resnet"})
    void playsAgainAndAgainAndLeavesNothing(String name) {
        final Workload workload = Workload.of(name, 0);
        final CheckedSlots slots = new CheckedSlots();
        final Player player = new Player(workload, slots);
        final int fill = workload.fill().length;

        player.fill();
        assertEquals(fill, slots.live.size());
        player.touchAll();
        assertEquals(fill, slots.touched);

        player.play(workload.events().length);
        player.play(workload.events().length);
        assertEquals(fill, slots.live.size());
        assertEquals(fill + 4 * workload.pairs(), slots.calls);

        // In the middle of things.
        player.playTouching(301);
        player.drain();
        assertEquals(Map.of(), slots.live);
    }
}
