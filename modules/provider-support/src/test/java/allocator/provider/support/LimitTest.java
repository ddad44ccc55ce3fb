package allocator.provider.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class LimitTest {
    @Test
    void zeroIsNoLimit() {
        assertThat(new Limit(0)).isEqualTo(Limit.NONE);
        assertThat(Limit.NONE.available(5)).isEqualTo(Long.MAX_VALUE - 5);
        assertThat(Limit.from(AllocatorOptions.EMPTY)).isEqualTo(Limit.NONE);
        assertThat(Limit.NONE.isLimited()).isFalse();
        assertThat(Limit.NONE.toStats()).isEqualTo(AllocatorStats.UNLIMITED);
    }

    @Test
    void anyOtherValueIsTheLimit() {
        final Limit limit = Limit.from(AllocatorOptions.of(Map.of("arena.max_mem", "1")));
        assertThat(limit.bytes()).isEqualTo(1);
        assertThat(limit.isLimited()).isTrue();
        assertThat(limit.toStats()).isEqualTo(1);
        assertThat(limit.available(3)).isEqualTo(-2);
    }

    @Test
    void theLargestNumbersAreNoLimitAndReportedAsZero() {
        for (final String value : List.of("max", "9223372036854775807", "18446744073709551615")) {
            final AllocatorOptions options = AllocatorOptions.of(Map.of("arena.max_mem", value));
            assertThat(Limit.from(options).toStats()).isEqualTo(AllocatorStats.UNLIMITED);
            assertThat(options.resolve(List.of(Limit.KEY)).value("arena.max_mem"))
                    .isEqualTo("0");
        }
    }

    @Test
    void aNegativeLimitIsRejected() {
        assertThatIllegalArgumentException().isThrownBy(() -> new Limit(-1)).withMessageContaining("-1");
    }

    /** A request is compared with the difference, which cannot overflow as the sum could. */
    @Test
    void aRequestIsAvailableIfItAndWhatIsHeldAreWithinTheLimit() {
        final long[] boundaries = LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .filter(number -> number >= 0)
                .distinct()
                .toArray();
        for (final long bytes : boundaries) {
            final Limit limit = new Limit(bytes);
            final long most = bytes == 0 ? Long.MAX_VALUE : bytes;
            for (final long held : boundaries) {
                final long available = limit.available(held);
                for (final long request : boundaries) {
                    final long sum = held + request; // negative if it overflows
                    if ((request <= available) != (sum >= 0 && sum <= most)) {
                        throw new AssertionError(request + " beside " + held + " of " + bytes + ": " + available);
                    }
                }
            }
        }
    }
}
