package allocator.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AllocatorOptionsTest {
    private static final OptionKey<Long> SIZE =
            OptionKey.size("arena.initial_chunk_size_bytes", 1 << 20, "first region");
    private static final OptionKey<Long> BYTES = OptionKey.bytes("arena.max_mem", 0, "limit, 0 for none");
    private static final OptionKey<Boolean> FLAG = OptionKey.flag("arena.use_cuda_mempool", false, "pool");
    private static final OptionKey<Integer> CHOICE = OptionKey.choice(
            "arena.extend_strategy", 0, Map.of("0", 0, "kNextPowerOfTwo", 0, "1", 1, "kSameAsRequested", 1), "growth");
    private static final List<OptionKey<?>> KEYS = List.of(SIZE, BYTES, FLAG, CHOICE);

    private static AllocatorOptions set(OptionKey<?> key, String value) {
        return AllocatorOptions.of(Map.of(key.name(), value), "session");
    }

    @Test
    void aKeyThatIsNotSetHasItsDefault() {
        assertThat(AllocatorOptions.EMPTY.get(SIZE)).isEqualTo(1 << 20);
        assertThat(AllocatorOptions.EMPTY.get(FLAG)).isFalse();
        assertThat(AllocatorOptions.EMPTY.origin(SIZE.name())).isEqualTo(AllocatorOptions.DEFAULT);
    }

    @Test
    void eachKeyReadsTheTextByItsOwnRule() {
        final AllocatorOptions options = set(BYTES, "123456789012");
        options.requireValid(KEYS);
        assertThat(options.with("other", "1", "session").get(BYTES)).isEqualTo(123456789012L);
        final OptionKey<Integer> narrow = OptionKey.count(BYTES.name(), 0, "another key of that name");
        assertThatExceptionOfType(InvalidOptionException.class).isThrownBy(() -> options.get(narrow));
        assertThat(options.get(BYTES)).isEqualTo(123456789012L);
    }

    @ParameterizedTest
    @CsvSource({"1, 256", "255, 256", "256, 256", "257, 512", "1000000, 1000192", "2147483648, 2147483648"})
    void sizesAreRoundedUpToTheGranularity(String text, long byteSize) {
        assertThat(set(SIZE, text).get(SIZE)).isEqualTo(byteSize);
    }

    @Test
    void everySizeInEveryUnitIsRoundedToTheLeastGranulesUpToTheLargest() {
        final long[] boundaries = LongStream.range(0, Long.SIZE)
                .flatMap(bit -> LongStream.rangeClosed(-2, 2).map(by -> (1L << bit) + by))
                .filter(number -> number > 0)
                .distinct()
                .toArray();
        for (int unit = 0; unit <= 4; unit++) {
            for (final long number : boundaries) {
                final BigInteger bytes = BigInteger.valueOf(number).shiftLeft(10 * unit);
                final BigInteger granules = bytes.add(BigInteger.valueOf(255)).shiftRight(8);
                final String text = number + " kmgt".substring(unit, unit + 1).strip();
                if (bytes.bitLength() > Long.SIZE) {
                    assertRejected(SIZE, text);
                } else {
                    assertThat(BigInteger.valueOf(SIZE.parse(text, "test")))
                            .isEqualTo(granules.shiftLeft(8).min(BigInteger.valueOf(OptionKey.MAX_SIZE)));
                }
            }
        }
    }

    @Test
    void theLargestSizeIsAcceptedAndLargerOnesMeanIt() {
        assertThat(set(SIZE, Long.toString(OptionKey.MAX_SIZE)).get(SIZE)).isEqualTo(OptionKey.MAX_SIZE);
        assertThat(set(SIZE, Long.toString(OptionKey.MAX_SIZE + 1)).get(SIZE)).isEqualTo(OptionKey.MAX_SIZE);
        assertRejected(SIZE, "18446744073709551616");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "0", "", " ", "1 ", "100abc", "1e6", "0x10", "+1", "\u0661", "\uff11"})
    void badSizesAreRejectedByKeyValueRangeAndOrigin(String text) {
        assertRejected(SIZE, text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "", "true", "2", "on", "+1", "-0", "\u0661"})
    void badFlagsAreRejected(String text) {
        assertRejected(FLAG, text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "2", "", "knextpoweroftwo"})
    void badChoicesAreRejected(String text) {
        assertRejected(CHOICE, text);
    }

    @Test
    void aListHasDifferentEntriesOfItsForm() {
        final OptionKey<List<String>> list =
                OptionKey.list("arena.list", Pattern.compile("[a-z]:[0-9]"), "a list", "for this test");
        assertThat(list.defaultValue()).isEmpty();
        assertThat(list.parse("", "here")).isEmpty();
        assertThat(list.parse("a:1;b:2", "here")).containsExactly("a:1", "b:2");
        assertThat(list.format(List.of("a:1", "b:2"))).isEqualTo("a:1;b:2");
        for (final String text : List.of("a:1,b:2", "a", " a:1", "A:1")) {
            assertRejected(list, text, "a list");
        }
        assertRejected(list, ";", "a list: an entry is empty");
        assertRejected(list, "a:1;", "a list: an entry is empty");
        assertRejected(list, "a:1;a:1", "a list: 'a:1' is there twice");
        assertRejected(list, "a:1;b", "a list: 'b' is none");
    }

    private static void assertRejected(OptionKey<?> key, String text, String accepted) {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> key.parse(text, "here"))
                .withMessage("option %s='%s' (from here) is not %s", key.name(), text, accepted);
    }

    @Test
    void choicesHaveSeveralNamesAndAreWrittenByTheFirst() {
        assertThat(set(CHOICE, "kSameAsRequested").get(CHOICE)).isEqualTo(1);
        assertThat(set(CHOICE, "kSameAsRequested").resolve(KEYS).value(CHOICE.name()))
                .isEqualTo("1");
    }

    @Test
    void bytesTakeZeroAndEverythingAbove() {
        assertThat(set(BYTES, "0").get(BYTES)).isZero();
        assertThat(set(BYTES, "9223372036854775807").get(BYTES)).isEqualTo(Long.MAX_VALUE);
        assertRejected(BYTES, "-1");
        assertRejected(BYTES, "-0");
        assertRejected(BYTES, "\u0660");
    }

    private static void assertRejected(OptionKey<?> key, String text) {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> set(key, text).requireValid(KEYS))
                .satisfies(e -> {
                    assertThat(e.key()).isEqualTo(key.name());
                    assertThat(e.value()).isEqualTo(text);
                    assertThat(e.accepted()).startsWith(key.accepted());
                    assertThat(e.origin()).isEqualTo("session");
                })
                .withMessageStartingWith("option %s='%s' (from session) is not %s", key.name(), text, key.accepted());
    }

    @Test
    void anUnknownKeyIsAnsweredWithTheClosestKnownOne() {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() ->
                        AllocatorOptions.of(Map.of("arena.max_memory", "1")).requireValid(KEYS))
                .withMessageContaining("arena.max_memory='1'")
                .withMessageContaining("explicit call")
                .withMessageContaining("did you mean arena.max_mem?");
    }

    @Test
    void anUnknownKeyWithoutKnownOnesSaysSo() {
        assertThatExceptionOfType(InvalidOptionException.class)
                .isThrownBy(() -> AllocatorOptions.of(Map.of("a", "1")).requireValid(List.of()))
                .withMessageContaining("(from explicit call). Known: no options");
    }

    @Test
    void strongerSettingsWinKeyByKeyAndKeepTheirOrigin() {
        final AllocatorOptions environment =
                AllocatorOptions.of(Map.of(SIZE.name(), "512", BYTES.name(), "1"), "environment");
        final AllocatorOptions session = AllocatorOptions.of(Map.of(BYTES.name(), "2"), "session");
        final AllocatorOptions merged = environment.overriddenBy(session);
        assertThat(merged.get(SIZE)).isEqualTo(512);
        assertThat(merged.get(BYTES)).isEqualTo(2);
        assertThat(merged.origin(SIZE.name())).isEqualTo("environment");
        assertThat(merged.origin(BYTES.name())).isEqualTo("session");
    }

    @Test
    void resolvedSettingsHaveEveryKeyInItsEffectiveForm() {
        final AllocatorOptions resolved = set(SIZE, "1000").resolve(KEYS);
        assertThat(resolved.toMap())
                .containsEntry(SIZE.name(), "1024")
                .containsEntry(BYTES.name(), "0")
                .containsEntry(FLAG.name(), "0")
                .hasSize(KEYS.size());
        assertThat(resolved.origin(SIZE.name())).isEqualTo("session");
        assertThat(resolved.origin(FLAG.name())).isEqualTo(AllocatorOptions.DEFAULT);
    }
}
