package allocator.arena.bump;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.arena.chunk.Boundaries;
import allocator.spi.AllocatorOptions;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class BumpConfigTest {
    @Nested
    class Components {
        @Test
        void areRejectedOutOfRange() {
            assertThatThrownBy(() -> new BumpConfig(0, 0, 0)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> new BumpConfig(1, -1, 0)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> new BumpConfig(10, 0, 9)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> new BumpConfig(10, 0, -1)).isInstanceOf(IllegalArgumentException.class);
        }

        @Test
        void areReadFromOptions() {
            AllocatorOptions options = AllocatorOptions.of(Map.of(
                    "arena.initial_chunk_size_bytes", "4096",
                    "arena.initial_growth_chunk_size_bytes", "8192"));

            assertThat(BumpConfig.from(options)).isEqualTo(new BumpConfig(4096, 8192, 0));
        }

        @Test
        void keepTheFirstRegionWithinTheLimit() {
            AllocatorOptions options =
                    AllocatorOptions.of(Map.of("arena.initial_chunk_size_bytes", "4096", "arena.bump_max_mem", "1000"));

            assertThat(BumpConfig.from(options).initialBytes()).isEqualTo(1000);
        }
    }

    @Nested
    class NextRegion {
        @Test
        void isOfTheInitialSizeAndThenOfTheSizeOfGrowth() {
            BumpConfig config = new BumpConfig(100, 50, 0);
            assertThat(config.nextRegionBytes(1, 0, Long.MAX_VALUE)).isEqualTo(100);
            assertThat(config.nextRegionBytes(1, 100, Long.MAX_VALUE)).isEqualTo(50);
        }

        @Test
        void holdsALargerRequest() {
            BumpConfig config = BumpConfig.growing(100);
            assertThat(config.nextRegionBytes(101, 0, Long.MAX_VALUE)).isEqualTo(101);
            assertThat(config.nextRegionBytes(Long.MAX_VALUE - 100, 100, Long.MAX_VALUE))
                    .isEqualTo(Long.MAX_VALUE - 100);
            assertThat(config.nextRegionBytes(Long.MAX_VALUE - 99, 100, Long.MAX_VALUE))
                    .isZero();
        }

        @Test
        void isCutToWhatTheLimitsLeave() {
            BumpConfig config = new BumpConfig(100, 100, 150);
            assertThat(config.nextRegionBytes(1, 100, Long.MAX_VALUE)).isEqualTo(50);
            assertThat(config.nextRegionBytes(1, 100, 40)).isEqualTo(40);
            assertThat(config.nextRegionBytes(50, 100, Long.MAX_VALUE)).isEqualTo(50);
            assertThat(config.nextRegionBytes(51, 100, Long.MAX_VALUE)).isZero();
        }

        @Test
        void isTheOnlyOneOfAFixedArena() {
            BumpConfig config = BumpConfig.fixed(100);
            assertThat(config.nextRegionBytes(1, 0, Long.MAX_VALUE)).isEqualTo(100);
            assertThat(config.nextRegionBytes(1, 100, Long.MAX_VALUE)).isZero();
        }

        /** No sum is made: limits are subtracted. */
        @Test
        void isWithinEveryLimitAndHoldsTheRequestIfThereIsRoomForIt() {
            long[] sizes = Boundaries.within(0, Long.MAX_VALUE);
            for (long limit : sizes) {
                long most = limit == 0 ? Long.MAX_VALUE : limit;
                BumpConfig config = new BumpConfig(1, most > 4096 ? 4096 : 1, limit);
                for (long chained : Boundaries.within(0, most)) {
                    for (long least : sizes) {
                        long bytes = config.nextRegionBytes(least, chained, Long.MAX_VALUE - 1);
                        long sum = chained + bytes; // negative if it overflows
                        boolean hasRoom = least <= most - chained && least < Long.MAX_VALUE;
                        boolean holds = bytes >= least && sum >= 0 && sum <= most && bytes < Long.MAX_VALUE;
                        if (hasRoom ? !holds : bytes != 0) {
                            throw new AssertionError(bytes + " for " + least + " after " + chained + " of " + most);
                        }
                    }
                }
            }
        }
    }
}
