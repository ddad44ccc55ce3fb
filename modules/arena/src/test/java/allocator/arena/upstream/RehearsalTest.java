package allocator.arena.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.PlacementPolicy;
import allocator.provider.support.event.AllocatorEvents;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RehearsalTest {
    private static int rehearsed;

    /** Its addresses are those of no memory: who reads the recent events would look for it. */
    @ParameterizedTest
    @EnumSource(names = {"BEST_FIT", "QUICK_FIT"})
    void nothingIsRemembered(PlacementPolicy policy) {
        rehearsed = 0;
        AllocatorEvents.remember(64);
        try {
            new Rehearsal(upstream -> {
                        final BfcArena arena = new BfcArena(upstream, ArenaConfig.DEFAULT.withPlacementPolicy(policy));
                        arena.free(arena.alloc(1));
                        arena.shrink();
                        arena.close();
                        rehearsed++;
                    })
                    .ensure();
            assertThat(rehearsed).isEqualTo(1);
            assertThat(AllocatorEvents.recent()).isEmpty();
        } finally {
            AllocatorEvents.forget();
        }
    }
}
