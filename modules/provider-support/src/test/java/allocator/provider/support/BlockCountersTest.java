package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class BlockCountersTest {
    @Test
    void moreRequestedThanTakenIsRejectedAndNotCounted() {
        final BlockCounters counters = new BlockCounters();
        counters.allocated(256, 256);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> counters.allocated(100, 256))
                .withMessage("requestedSize is 256, it must be at most byteSize, 100");
        assertThat(counters.bytesInUse()).isEqualTo(256);
        assertThat(counters.toStats().build().numAllocs()).isEqualTo(1);
    }
}
