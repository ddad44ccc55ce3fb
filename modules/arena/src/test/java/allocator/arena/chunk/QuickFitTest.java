package allocator.arena.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class QuickFitTest {
    private static final int REGION = 6000;

    private static QuickFit quickFit(long maxCachedGranules) {
        final QuickFit quickFit = new QuickFit(1 << 20, maxCachedGranules);
        quickFit.prepareRegion(REGION);
        final Region region = quickFit.newRegion(REGION);
        region.setBase(0x1000);
        quickFit.attach(region);
        return quickFit;
    }

    /** However many chunks of a size are cached, a free that exceeds the limit merges a bounded number of them. */
    @Test
    void aFreeMergesAFewHundredAtMost() {
        final int most = REGION / 3;
        final QuickFit quickFit = quickFit(most);
        for (int i = 0; i < REGION; i++) {
            quickFit.take(1, 1, null);
        }
        final Region region = quickFit.regions().at(0);
        for (int i = 0; i <= most; i++) {
            quickFit.free(region, region.startingAt(quickFit, 2L * i), 1);
        }

        assertThat(quickFit.cachedGranules()).isBetween(most - 300L, (long) most);
        assertThat(quickFit.cachedChunks()).isEqualTo((int) quickFit.cachedGranules());
    }
}
