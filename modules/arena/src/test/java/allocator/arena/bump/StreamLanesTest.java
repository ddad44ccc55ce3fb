package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StreamLanesTest {
    private final StreamLanes lanes = new StreamLanes();

    @Test
    void everyLaneIsFoundUntilItIsRemoved() {
        final List<FakeStream> streams = new ArrayList<>();
        final List<BumpLane> added = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            streams.add(new FakeStream());
            added.add(lanes.add(streams.get(i)));
        }
        for (int i = 0; i < 1000; i += 3) {
            lanes.remove(added.get(i));
        }

        for (int i = 0; i < 1000; i++) {
            assertThat(lanes.find(streams.get(i))).isSameAs(i % 3 == 0 ? null : added.get(i));
        }
    }

    @Test
    void theTableShrinksWhenLanesAreRemoved() {
        final int before = lanes.length();
        final List<BumpLane> added = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            added.add(lanes.add(new FakeStream()));
        }
        assertThat(lanes.length()).isGreaterThanOrEqualTo(20_000);
        added.forEach(lanes::remove);

        assertThat(lanes.length()).isLessThanOrEqualTo(2 * before);
    }
}
