package allocator.conformance.rules.factories;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.spi.OptionKey;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionRulesTest {
    private static final OptionKey<Long> SIZE = OptionKey.bytes("test.bytes", 0, "a size of a provider");

    @ParameterizedTest
    @CsvSource({
        "65536, 65536, true",
        "131072, 65537, true",
        "65536, 65537, false",
        "9223372036854710272, 9223372036854775807, true",
        "4611686018427387904, 9223372036854775807, false"
    })
    void aSizeIsRoundedUpUnlessItIsTooLarge(String effective, String requested, boolean isRight) {
        assertThat(OptionRules.isEffective(SIZE, effective, requested)).isEqualTo(isRight);
    }
}
