package allocator.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SizesTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0 B",
        "1, 1 B",
        "1023, 1023 B",
        "1024, 1.00 KiB",
        "10188, 9.95 KiB",
        "10240, 10.0 KiB",
        "1048524, 1023.9 KiB",
        "1048575, 1.00 MiB",
        "567300537, 541.0 MiB",
        "1073741824, 1.00 GiB",
        "9223372036854775807, 8.00 EiB"
    })
    void areShortWithAUnit(long bytes, String text) {
        assertThat(Sizes.human(bytes)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0 ns",
        "154.4, 154 ns",
        "9999.4, 9999 ns",
        "10000, 10.0 µs",
        "103221.8, 103.2 µs",
        "3861300, 3.9 ms",
        "NaN, -"
    })
    void timesAreShortWithAUnit(double nanos, String text) {
        assertThat(Sizes.time(nanos)).isEqualTo(text);
    }

    @Test
    void exactNumbersHaveGroups() {
        assertThat(Sizes.exact(1234567)).isEqualTo("1,234,567");
        assertThat(Sizes.ratio(Double.NaN)).isEqualTo("-");
    }
}
