package allocator.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.arena.chunk.Boundaries;
import allocator.arena.chunk.Granules;
import allocator.spi.AllocatorOptions;
import allocator.spi.InvalidOptionException;
import allocator.spi.OptionKey;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ArenaConfigTest {
    private static final int MIB = 1 << 20;

    @Test
    void defaultsAreThoseOfOnnxRuntime() {
        assertThat(ArenaConfig.DEFAULT)
                .isEqualTo(new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO,
                        MIB,
                        128 * MIB,
                        2 * MIB,
                        1024 * MIB,
                        0,
                        PlacementPolicy.BEST_FIT,
                        0,
                        true));
    }

    @ParameterizedTest
    @CsvSource({
        "0, POWER_OF_TWO",
        "1, SAME_AS_REQUESTED",
        "kNextPowerOfTwo, POWER_OF_TWO",
        "kSameAsRequested, SAME_AS_REQUESTED"
    })
    void theStrategyHasNumbersAndNames(String text, ExtendStrategy strategy) {
        final AllocatorOptions options = AllocatorOptions.of(Map.of("arena.extend_strategy", text));

        assertThat(ArenaConfig.from(options).extendStrategy()).isEqualTo(strategy);
    }

    @ParameterizedTest
    @CsvSource({"1, 256", "255, 256", "256, 256", "257, 512", "1000000, 1000192", "2147483648, 2147483648"})
    void sizesAreRoundedUp(String text, long rounded) {
        final AllocatorOptions options = AllocatorOptions.of(Map.of("arena.initial_chunk_size_bytes", text));

        assertThat(ArenaConfig.from(options).initialChunkBytes()).isEqualTo(rounded);
        assertThat(new ArenaConfig(
                                ExtendStrategy.POWER_OF_TWO,
                                Long.parseLong(text),
                                1,
                                1,
                                1,
                                0,
                                PlacementPolicy.BEST_FIT,
                                0,
                                true)
                        .initialChunkBytes())
                .isEqualTo(rounded);
    }

    @Test
    void theLimitIsTakenAsItIs() {
        assertThat(ArenaConfig.from(AllocatorOptions.of(Map.of("arena.max_mem", "5000")))
                        .maxMem())
                .isEqualTo(5000);
    }

    @ParameterizedTest
    @CsvSource({"0", "-1", "9223372036854775807"})
    void sizesThatCannotBeRoundedAreRejected(long byteSize) {
        assertThatThrownBy(() -> new ArenaConfig(
                        ExtendStrategy.POWER_OF_TWO, 1, byteSize, 1, 1, 0, PlacementPolicy.BEST_FIT, 0, true))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("maxDeadBytesPerChunk is " + byteSize);
    }

    @Test
    void aNegativeLimitIsRejected() {
        assertThatThrownBy(() ->
                        new ArenaConfig(ExtendStrategy.POWER_OF_TWO, 1, 1, 1, 1, -1, PlacementPolicy.BEST_FIT, 0, true))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("maxMem");
    }

    @Test
    void anUnknownKeyIsAnsweredWithTheNearest() {
        final AllocatorOptions options = AllocatorOptions.of(Map.of("arena.max_memory", "1"));

        assertThatThrownBy(() -> options.requireValid(ArenaOptions.KEYS))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("did you mean arena.max_mem?");
    }

    @Test
    void theReplacedPolicyIsRejectedWithItsSuccessor() {
        final AllocatorOptions options = AllocatorOptions.of(Map.of("arena.policy", "quick-fit"));

        assertThatThrownBy(() -> ArenaConfig.from(options))
                .isInstanceOf(InvalidOptionException.class)
                .hasMessageContaining("arena.policy=quick-fit was replaced by slabs");
    }

    @Test
    void everyKeyIsWrittenAsItIsRead() {
        final AllocatorOptions resolved = AllocatorOptions.EMPTY.resolve(ArenaOptions.KEYS);

        assertThat(resolved.keys()).hasSameSizeAs(ArenaOptions.KEYS);
        assertThat(ArenaConfig.from(resolved)).isEqualTo(ArenaConfig.DEFAULT);
        assertThat(ArenaOptions.KEYS).extracting(OptionKey::name).allMatch(name -> name.startsWith("arena."));
    }

    @Test
    void aKeyWithoutEffectDoesNotApply() {
        assertThat(ArenaOptions.applicable(ArenaOptions.KEYS, AllocatorOptions.EMPTY))
                .hasSize(ArenaOptions.KEYS.size() - 3)
                .doesNotContain(ArenaOptions.SLACK_PERCENT);
        assertThat(ArenaOptions.applicable(ArenaOptions.KEYS, AllocatorOptions.of(Map.of("arena.policy", "compact"))))
                .containsExactly(
                        ArenaOptions.MAX_MEM,
                        ArenaOptions.POLICY,
                        ArenaOptions.MAX_LANES,
                        ArenaOptions.SLACK_PERCENT,
                        ArenaOptions.EXTENT_DIVISOR,
                        ArenaOptions.ALLOCATIONS_PER_MOVE,
                        ArenaOptions.PLAN);
        assertThat(ArenaOptions.applicable(
                        ArenaOptions.KEYS, AllocatorOptions.of(Map.of("arena.extend_strategy", "kSameAsRequested"))))
                .containsExactly(
                        ArenaOptions.EXTEND_STRATEGY,
                        ArenaOptions.MAX_DEAD_BYTES_PER_CHUNK,
                        ArenaOptions.MAX_MEM,
                        ArenaOptions.POLICY,
                        ArenaOptions.MAX_LANES,
                        ArenaOptions.PLAN);
    }

    @Test
    void everySizeIsRoundedToWholeGranulesOrRejected() {
        for (final long byteSize : Boundaries.within(Long.MIN_VALUE, Long.MAX_VALUE)) {
            long rounded = -1;
            try {
                rounded = new ArenaConfig(
                                ExtendStrategy.POWER_OF_TWO, 1, 1, 1, byteSize, 0, PlacementPolicy.BEST_FIT, 0, true)
                        .maxPowerOfTwoExtendBytes();
            } catch (IllegalArgumentException e) {
                // It is less than 1, or cannot be rounded.
            }
            final boolean isSize = byteSize >= 1 && byteSize <= Long.MAX_VALUE - 255;
            assertThat(rounded).isEqualTo(isSize ? Granules.roundUp(byteSize) : -1);
        }
    }
}
