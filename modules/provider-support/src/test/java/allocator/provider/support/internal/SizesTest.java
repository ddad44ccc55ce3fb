package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.spi.InvalidSizeException;
import java.util.stream.LongStream;
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

    private static long[] boundaries() {
        return LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .distinct()
                .toArray();
    }

    @Test
    void everySizeIsRoundedToTheLeastMultipleOrRejectedIfThatOverflows() {
        for (long granularity = 1; granularity > 0; granularity *= 2) {
            for (final long byteSize : boundaries()) {
                final long largest = Long.MAX_VALUE / granularity * granularity;
                long rounded = -1;
                try {
                    rounded = Sizes.roundUp(byteSize, granularity);
                } catch (InvalidSizeException e) {
                    // It is negative or too large.
                }
                final boolean isLeast =
                        rounded >= byteSize && rounded - byteSize < granularity && rounded % granularity == 0;
                if ((byteSize < 0 || byteSize > largest) ? rounded != -1 : !isLeast) {
                    throw new AssertionError(byteSize + " to a multiple of " + granularity + ": " + rounded);
                }
            }
        }
    }
}
