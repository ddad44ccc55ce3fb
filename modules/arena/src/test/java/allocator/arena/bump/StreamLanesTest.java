package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.FakeStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StreamLanesTest {
    private final StreamLanes lanes = new StreamLanes(256);

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

    /** A lane with an empty region whose last free was at the stream's present sync id. */
    private BumpLane withRegion(FakeStream stream, long address) {
        final BumpLane lane = lanes.add(stream);
        final BlockRegion region = new BlockRegion(4096, lane, false);
        region.placeAt(address);
        region.freeStamp = stream.syncId();
        lane.add(region);
        return lane;
    }

    @Test
    void aSearchVisitsTheStreamsThatOneHasWaitedFor() {
        final FakeStream requester = new FakeStream();
        lanes.add(requester);
        final List<FakeStream> streams = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            streams.add(new FakeStream());
            withRegion(streams.get(i), (i + 1L) << 16);
        }
        assertThat(lanes.smallestFor(1, requester)).isNull();
        assertThat(lanes.visits()).isZero();

        streams.get(70).notifyAndWait(requester);
        streams.get(30).notifyAndWait(requester);
        final BlockRegion found = lanes.smallestFor(1, requester);
        assertThat(found).isNotNull();
        assertThat(found.base()).isEqualTo(31L << 16);
        assertThat(lanes.smallestFor(4097, requester)).isNull();
        assertThat(lanes.visits()).isEqualTo(4);
    }

    @Test
    void lanesOfEndedStreamsAreTaken() {
        final FakeStream open = new FakeStream();
        final FakeStream kept = new FakeStream();
        final BumpLane ofOpen = lanes.add(open);
        final BumpLane ofKept = lanes.add(kept);
        for (int i = 0; i < 20; i++) {
            try (FakeStream ended = new FakeStream()) {
                lanes.add(ended);
            }
        }
        kept.close();
        int taken = 0;
        for (BumpLane lane = lanes.takeEnded(ofKept); lane != null; lane = lane.next) {
            taken++;
        }
        assertThat(taken).isEqualTo(20);
        assertThat(lanes.find(open)).isSameAs(ofOpen);
        assertThat(lanes.find(kept)).isSameAs(ofKept);
        assertThat(lanes.takeEnded(ofKept)).isNull();
    }
}
