package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.InvalidSizeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SizesTest {
    @ParameterizedTest
    @CsvSource({"0, 0", "1, 256", "255, 256", "256, 256", "257, 512", "9223372036854775552, 9223372036854775552"})
    void sizesAreRoundedUpToTheGranularity(long byteSize, long rounded) {
        assertThat(Sizes.roundUp(byteSize, 256)).isEqualTo(rounded);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE, 9223372036854775553L, Long.MAX_VALUE})
    void sizesOutsideTheRangeAreRejected(long byteSize) {
        assertThatThrownBy(() -> Sizes.roundUp(byteSize, 256)).isInstanceOf(InvalidSizeException.class);
    }

    @Test
    void aGranularityOfOneChangesNothing() {
        assertThat(Sizes.roundUp(Long.MAX_VALUE, 1)).isEqualTo(Long.MAX_VALUE);
    }
}
