package allocator.view;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Region;
import allocator.spi.AllocatorSnapshot.State;
import allocator.view.Breakdown.By;
import allocator.view.Breakdown.Group;
import allocator.view.Diagnosis.Cause;
import allocator.view.Diagnosis.Fact;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DiagnosisTest {
    private static Cause cause(Failure failure, Region... regions) {
        return Diagnosis.of(Snapshots.of(failure, new AllocatorSnapshot(List.of(regions), List.of()), Map.of()))
                .orElseThrow()
                .cause();
    }

    @Test
    void aSnapshotWithoutFailureHasNone() {
        assertThat(Diagnosis.of(Snapshots.of(null, AllocatorSnapshot.EMPTY, Map.of())))
                .isEmpty();
    }

    @Test
    void aRequestAboveTheLimitIsTooLarge() {
        assertThat(cause(Snapshots.failure(2000, 1000, 0, 0, 0))).isEqualTo(Cause.TOO_LARGE);
    }

    @Test
    void liveBlocksAndTheRequestMayExceedTheLimit() {
        assertThat(cause(
                        Snapshots.failure(500, 1000, 600, 1000, 0),
                        Snapshots.region(0x1000, 0, State.LIVE, 600, State.FREE, 400)))
                .isEqualTo(Cause.LIVE);
    }

    @Test
    void freedMemoryMayWaitForAStream() {
        assertThat(cause(
                        Snapshots.failure(500, 1000, 300, 1000, 100),
                        Snapshots.region(0x1000, 1, State.LIVE, 300, State.WAITING, 600, State.FREE, 100)))
                .isEqualTo(Cause.WAITING);
    }

    @Test
    void freeMemoryMayBeInPieces() {
        assertThat(cause(
                        Snapshots.failure(500, 1000, 200, 1000, 400),
                        Snapshots.region(
                                0x1000, 0, State.FREE, 400, State.LIVE, 100, State.FREE, 400, State.LIVE, 100)))
                .isEqualTo(Cause.FRAGMENTED);
    }

    @Test
    void theDeviceMayHaveNoMore() {
        assertThat(cause(Snapshots.failure(500, -1, 900, 1000, 0), Snapshots.region(0x1000, 0, State.LIVE, 1000)))
                .isEqualTo(Cause.DEVICE);
    }

    /** The arena has the blocks of all, with padding, and had no part in the failure. */
    @Test
    void aBudgetIsNamedInPlaceOfTheArenasLimit() {
        final AllocatorSnapshot memory = new AllocatorSnapshot(
                List.of(Snapshots.region(0x1000, 0, State.LIVE, 46L << 20, State.FREE, 2L << 20)), List.of());
        final Diagnosis alone = Diagnosis.of(
                        Snapshots.of(Snapshots.failureOfBudget(15 << 20, 8 << 20, 0), memory, Map.of()))
                .orElseThrow();
        final Diagnosis full = Diagnosis.of(
                        Snapshots.of(Snapshots.failureOfBudget(5 << 20, 8 << 20, 7 << 20), memory, Map.of()))
                .orElseThrow();
        assertThat(alone.headline()).endsWith(": more than the budget of two, 8.00 MiB");
        assertThat(alone.advice()).containsExactly("Raise the budget of two above the request, or split the request.");
        assertThat(full.cause()).isEqualTo(Cause.LIVE);
        assertThat(full.headline()).endsWith(": charges take 7.00 MiB of the budget of two, 8.00 MiB");
        assertThat(full.advice()).last().isEqualTo("Raise the budget of two if the device has room.");
        assertThat(full.facts())
                .containsExactly(
                        new Fact("requested", 5 << 20, ""),
                        new Fact("limit", 8 << 20, "the budget of two"),
                        new Fact("charged", 7 << 20, "of the budget of two"));
    }

    @Test
    void muchPaddingIsAdvisedAgainst() {
        final AllocatorSnapshot memory = new AllocatorSnapshot(
                List.of(new Region(
                        0,
                        0x1000,
                        46 << 20,
                        List.of(new AllocatorSnapshot.Chunk(0x1000, 46 << 20, 34 << 20, State.LIVE, 0)))),
                List.of());
        assertThat(Diagnosis.of(Snapshots.of(
                                Snapshots.failure(20 << 20, 64 << 20, 46 << 20, 64 << 20, 0), memory, Map.of()))
                        .orElseThrow()
                        .advice())
                .last()
                .asString()
                .startsWith("12.0 MiB of the live bytes are padding: ")
                .contains("arena.max_dead_bytes_per_chunk");
    }

    @Test
    void whoHasMostComesFirst() {
        final Region region = Snapshots.region(0x1000, 1, State.LIVE, 256, State.LIVE, 512, State.FREE, 256);
        final var allocator = Snapshots.of(
                        null,
                        new AllocatorSnapshot(List.of(region), List.of()),
                        Map.of(0x1000L, new Site("bert", "A.b(A.java:1)", 5, 0)))
                .allocators()
                .getFirst();

        assertThat(Breakdown.by(By.SITE, allocator))
                .containsExactly(new Group("not recorded", 1, 511, 512), new Group("A.b(A.java:1)", 1, 255, 256));
        assertThat(Breakdown.by(By.SESSION, allocator))
                .containsExactly(new Group(Snapshots.HOSTILE, 1, 511, 512), new Group("bert", 1, 255, 256));
        assertThat(Breakdown.by(By.STREAM, allocator)).containsExactly(new Group("stream 1", 2, 766, 768));
        assertThat(Breakdown.by(By.SIZE, allocator))
                .containsExactly(new Group("512", 1, 511, 512), new Group("256", 1, 255, 256));
        assertThat(Breakdown.by(By.OPERATOR, allocator)).isEmpty();
        assertThat(Breakdown.by(By.LAYER, allocator)).isEmpty();
        assertThat(Breakdown.by(By.KIND, allocator)).isEmpty();
    }

    @Test
    void namedBlocksAreGroupedByOperatorLayerAndKind() {
        final Region region = Snapshots.region(
                0x1000, 1, State.LIVE, 256, State.LIVE, 512, State.LIVE, 1024, State.LIVE, 2048, State.FREE, 256);
        final var allocator = Snapshots.of(
                        null,
                        new AllocatorSnapshot(List.of(region), List.of()),
                        Map.of(
                                0x1000L, new Site("bert", "/m/layer.0/Add (Add, activation)", 5, 0),
                                0x1100L, new Site("bert", "/m/layer.0/Mul (Mul, scratch) at A.b(A.java:1)", 5, 0),
                                0x1300L, new Site("bert", "A.b(A.java:1)", 5, 0),
                                0x1700L, new Site("bert", "weights (weight)", 5, 0)))
                .allocators()
                .getFirst();
        assertThat(names(By.OPERATOR, allocator))
                .containsExactly("weights", "not recorded", "/m/layer.0/Mul", "/m/layer.0/Add");
        assertThat(Breakdown.by(By.LAYER, allocator))
                .containsExactly(
                        new Group("weights", 1, 2047, 2048),
                        new Group("not recorded", 1, 1023, 1024),
                        new Group("/m/layer.0", 2, 766, 768));
        assertThat(names(By.KIND, allocator)).containsExactly("weight", "not recorded", "scratch", "activation");
        assertThat(Breakdown.by(By.SITE, allocator))
                .containsExactly(new Group("not recorded", 2, 2302, 2304), new Group("A.b(A.java:1)", 2, 1534, 1536));
    }

    private static List<String> names(By by, AllocatorState allocator) {
        return Breakdown.by(by, allocator).stream().map(Group::name).toList();
    }
}
