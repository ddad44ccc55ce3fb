package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.testkit.FakeDevice;
import org.junit.jupiter.api.Test;

/** The bump sample of the module's page. */
class BumpExampleTest {
    @Test
    void theScratchMemoryOfARunIsFreedByOneReset() {
        FakeDevice device = new FakeDevice();
        try (BumpArena scratch = new BumpArena(device, BumpConfig.growing(1 << 20))) {
            for (int run = 0; run < 3; run++) {
                long scores = scratch.allocate(300_000, 256);
                BumpArena.Mark mark = scratch.mark();
                scratch.allocate(500_000, 64);
                scratch.rollback(mark); // frees the 500,000 bytes
                assertThat(scratch.isLive(scores, scratch.generation())).isTrue();
                scratch.reset(); // frees everything; the region serves the next run
            }
            assertThat(scratch.stats().resets()).isEqualTo(3);
        }
        assertThat(device.liveBlocks()).isZero();
    }
}
