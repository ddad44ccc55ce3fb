package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A snapshot as PyTorch's viewer reads it. */
class TorchSnapshotTest {
    private static final long ADDRESS = 0x7f00_0000_0000L;

    private static Map<?, ?> read(Snapshot snapshot) {
        return (Map<?, ?>) PickleReader.read(TorchSnapshot.of(snapshot));
    }

    private static List<Map<?, ?>> maps(Object list) {
        return ((List<?>) list).stream().<Map<?, ?>>map(one -> (Map<?, ?>) one).toList();
    }

    @Test
    void regionsAreSegmentsWhoseBlocksTileThem() {
        final AllocatorSnapshot memory = new AllocatorSnapshot(
                List.of(Snapshots.region(
                        ADDRESS,
                        4,
                        State.LIVE,
                        1 << 20,
                        State.WAITING,
                        512,
                        State.CACHED,
                        256,
                        State.UNMAPPED,
                        4096,
                        State.FREE,
                        256)),
                List.of(new Chunk(-256, 99, 77, State.LIVE, 0)));

        final Map<?, ?> torch =
                read(Snapshots.of(null, memory, Map.of(ADDRESS, new Site("bert", "a.B.c(B.java:42)", 5, 0))));

        final List<Map<?, ?>> segments = maps(torch.get("segments"));
        assertThat(segments).hasSize(3).allSatisfy(segment -> {
            long next = (Long) segment.get("address");
            for (final Map<?, ?> block : maps(segment.get("blocks"))) {
                assertThat(block.get("address")).isEqualTo(next);
                next += (Long) block.get("size");
            }
            assertThat(next).isEqualTo((Long) segment.get("address") + (Long) segment.get("total_size"));
            assertThat(next).isLessThan(1L << 53);
        });
        final Map<?, ?> first = segments.getFirst();
        assertThat(first.get("address")).isEqualTo(ADDRESS);
        assertThat(first.get("segment_type")).isEqualTo("large");
        assertThat(first.get("segment_pool_id")).isEqualTo(List.of(0L, 0L));
        assertThat(first.get("is_expandable")).isEqualTo(false);
        assertThat(first.get("allocated_size")).isEqualTo(1L << 20);
        assertThat(first.get("active_size")).isEqualTo((1L << 20) + 512);
        assertThat(first.get("requested_size")).isEqualTo((1L << 20) - 1);
        assertThat(maps(first.get("blocks")))
                .extracting(block -> String.valueOf(block.get("state")))
                .containsExactly("active_allocated", "active_pending_free", "inactive");
        assertThat(maps(maps(first.get("blocks")).getFirst().get("frames")))
                .containsExactly(
                        Map.of("filename", "B.java", "line", 42L, "name", "a.B.c"),
                        Map.of("filename", "", "line", 0L, "name", "session bert"));
    }

    @Test
    void operatorLayerAndKindAreFrames() {
        final Site site = new Site(
                "bert", "/encoder/layer.3/MatMul (MatMul, activation) at a.B.c(B.java:42)", Site.UNKNOWN_AGE, 0);
        final AllocatorSnapshot memory =
                new AllocatorSnapshot(List.of(), List.of(new Chunk(ADDRESS, 99, 77, State.LIVE, 0)));

        final Map<?, ?> torch = read(Snapshots.of(null, memory, Map.of(ADDRESS, site)));

        assertThat(maps(maps(maps(torch.get("segments")).getFirst().get("blocks"))
                        .getFirst()
                        .get("frames")))
                .extracting(frame -> frame.get("name") + "|" + frame.get("filename"))
                .containsExactly(
                        "/encoder/layer.3/MatMul|",
                        "/encoder/layer.3|",
                        "activation|",
                        "a.B.c|B.java",
                        "session bert|");
    }

    @Test
    void aFailureIsAnEventOfItsDevice() {
        final Map<?, ?> torch =
                read(Snapshots.of(Snapshots.failure(5000, 4096, 0, 0, 0), AllocatorSnapshot.EMPTY, Map.of()));
        assertThat(maps(((List<?>) torch.get("device_traces")).getFirst()))
                .last()
                .satisfies(event -> {
                    assertThat(event.get("action")).isEqualTo("oom");
                    assertThat(event.get("size")).isEqualTo(5000L);
                    assertThat(maps(event.get("frames")))
                            .containsExactly(
                                    Map.of("filename", "Model.java", "line", 42L, "name", "com.example.Model.load"));
                });
    }

    @Test
    void recentEventsAreTheTraceOfTheirDevice() {
        final Map<?, ?> torch = read(Snapshots.of(null, AllocatorSnapshot.EMPTY, Map.of()));
        final List<Map<?, ?>> events = maps(((List<?>) torch.get("device_traces")).getFirst());
        assertThat(events)
                .extracting(event -> (Object) event.get("action"))
                .as("the free of a block from before is left out")
                .containsExactly("segment_alloc", "alloc", "free_requested", "free_completed");
        assertThat(events)
                .extracting(event -> (Object) event.get("size"))
                .as("a free has the size of its block")
                .containsExactly(1000L, 100L, 100L, 100L);
        assertThat((Long) events.get(1).get("time_us"))
                .isEqualTo((Long) events.getFirst().get("time_us") + 9_000_000 - 3_000);
    }

    /** Items are added in batches, and texts are written once. */
    @Test
    void veryManyBlocksStaySmall() {
        final Snapshot snapshot = Snapshots.of(null, Snapshots.large(2500), Map.of());
        final Map<?, ?> torch = read(snapshot);
        assertThat(maps(maps(torch.get("segments")).getFirst().get("blocks"))).hasSize(2500);
        assertThat(TorchSnapshot.of(snapshot).length).isLessThan(2500 * 90);
    }
}
