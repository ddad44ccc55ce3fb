package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.AllocatorOptions;
import allocator.spi.ShrinkReport;
import allocator.testkit.FakeDevice;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a shrink keeps, and how it says why. */
class LaneShrinkTest {
    private static final long MIB = 1 << 20;
    private static final String FIRST = "the first region, which arena.keep_first_region=0 returns";

    private final FakeDevice device = new FakeDevice();

    private BfcArena arena(Map<String, String> options) {
        return new BfcArena(device, ArenaConfig.from(AllocatorOptions.of(options)));
    }

    @Test
    void theFirstRegionStaysUnlessTheOptionSaysOtherwise() {
        final BfcArena keeping = arena(Map.of());
        keeping.free(keeping.alloc(5 * MIB));
        assertThat(keeping.shrink().held()).containsExactly(new ShrinkReport.Held(8 * MIB, 1, FIRST));

        final BfcArena returning = arena(Map.of("arena.keep_first_region", "0"));
        returning.free(returning.alloc(5 * MIB));
        assertThat(returning.shrink()).isEqualTo(new ShrinkReport(8 * MIB, 1, 0, 0, 0));
        assertThat(returning.stats().bytesHeld()).isZero();
        returning.free(returning.alloc(1000));
        assertThat(returning.stats().bytesHeld())
                .as("growth restarts as after any shrink")
                .isEqualTo(2 * MIB);
    }

    @Test
    void everyByteHeldHasAReason() {
        final BfcArena arena = arena(Map.of());
        arena.free(arena.alloc(1000));
        final long live = arena.alloc(3 * MIB);
        final long reserve = arena.reserve(777);

        assertThat(arena.shrink().held())
                .containsExactly(
                        new ShrinkReport.Held(4 * MIB, 1, "regions with live blocks"),
                        new ShrinkReport.Held(MIB, 1, FIRST),
                        new ShrinkReport.Held(777, 0, "reserves, each until it is freed"));
        arena.free(reserve);
        arena.free(live);
    }

    @Test
    void memoryThatTheDeviceFailedToTakeBackHasAReason() {
        final BfcArena arena = arena(Map.of("arena.keep_first_region", "0"));
        arena.free(arena.alloc(1000));
        device.failFrees(call -> true);
        arena.shrink();
        assertThat(arena.shrink().held())
                .containsExactly(new ShrinkReport.Held(
                        MIB, 0, "memory that the device failed to take back; the next shrink tries again"));
    }

    /** In bytes only: it may have been a region or a reserve. */
    @Test
    void memoryThatTheDeviceTakesBackLaterIsReportedByTheShrinkThatOffersIt() {
        final BfcArena arena = arena(Map.of("arena.keep_first_region", "0"));
        final long reserve = arena.reserve(512);
        arena.free(arena.alloc(1000));
        device.failFrees(call -> true);
        arena.free(reserve);
        assertThat(arena.shrink().bytesReleased()).isZero();
        assertThat(arena.shrink().bytesReleased()).isZero();
        device.failFrees(call -> false);

        assertThat(arena.shrink()).isEqualTo(new ShrinkReport(MIB + 512, 0, 0, 0, 0));
        assertThat(arena.stats().bytesHeld()).isZero();
        assertThat(arena.shrink()).isEqualTo(new ShrinkReport(0, 0, 0, 0, 0));
    }
}
