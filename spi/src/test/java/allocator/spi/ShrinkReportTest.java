package allocator.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ShrinkReportTest {
    private static final ShrinkReport.Held LIVE = new ShrinkReport.Held(4096, 2, "regions with live blocks");
    private static final ShrinkReport ONE = new ShrinkReport(100, 1, 4096, 2, 0, List.of(LIVE));

    @Test
    void aSumHasEachReasonOnce() {
        final ShrinkReport.Held first = new ShrinkReport.Held(256, 1, "the first region");
        final ShrinkReport sum = ONE.plus(new ShrinkReport(7, 1, 4352, 2, 1, List.of(LIVE, first)));
        assertThat(sum)
                .isEqualTo(new ShrinkReport(
                        107,
                        2,
                        8448,
                        4,
                        1,
                        List.of(new ShrinkReport.Held(8192, 4, "regions with live blocks"), first)));
    }

    @Test
    void aSumHasNoReasonsIfOnePartHasNone() {
        assertThat(ONE.plus(new ShrinkReport(0, 0, 10, 1, 0)).held()).isEmpty();
        assertThat(ONE.plus(new ShrinkReport(50, 1, 0, 0, 0)).held()).containsExactly(LIVE);
    }

    @Test
    void theTextSaysWhatWentBackAndWhatStays() {
        assertThat(ONE)
                .hasToString("100 bytes in 1 region returned, 4.0 KiB (4,096 bytes) held;"
                        + " 4.0 KiB (4,096 bytes) in 2 regions: regions with live blocks");
    }
}
