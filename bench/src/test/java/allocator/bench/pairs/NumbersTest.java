package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NumbersTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 0",
                "0.00049 | 0",
                "0.0031 | 0.003",
                "0.0996 | 0.10",
                "1 | 1.00",
                "9.994 | 9.99",
                "9.996 | 10.0",
                "99.94 | 99.9",
                "99.96 | 100",
                "1234567 | 1,234,567",
                "NaN | ''"
            })
    void figuresHaveTwoOrThreeDigits(double value, String text) {
        assertEquals(text, Numbers.text(value));
    }

    @ParameterizedTest
    @CsvSource({"10, 10", "1e9, 1000000000", "0.5, 0.5000", "1e-9, 0.0000"})
    void theCsvHasNoExponents(double value, String text) {
        assertEquals(text, Numbers.csv(value));
    }
}
