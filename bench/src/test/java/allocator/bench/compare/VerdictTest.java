package allocator.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VerdictTest {
    private static final double THRESHOLD = 1.03;

    @ParameterizedTest
    @CsvSource({
        "0.95, 0.93, 0.97",
        "1.00, 0.98, 1.02",
        "1.02, 1.01, 1.03",
    })
    void passesIfTheUpperEndIsAtMostTheThreshold(double value, double low, double high) {
        assertEquals(Verdict.PASS, Verdict.of(new Ratio(value, low, high), THRESHOLD));
    }

    /** Judged by the value or by the lower end all of these would pass. */
    @ParameterizedTest
    @CsvSource({
        "1.00, 0.98, 1.0301",
        "0.90, 0.50, 1.50",
        "1.00, 0.00, Infinity",
        "NaN, 0.00, Infinity",
    })
    void aGoodValueOrLowerEndIsNoPassWhileTheUpperEndIsAboveTheThreshold(double value, double low, double high) {
        assertEquals(Verdict.UNDECIDED, Verdict.of(new Ratio(value, low, high), THRESHOLD));
    }

    /** Judged by the value or by the upper end all of these would be slower. */
    @ParameterizedTest
    @CsvSource({
        "1.05, 1.03, 1.07",
        "1.20, 0.99, 1.50",
    })
    void aBadValueOrUpperEndIsNotSlowerWhileTheLowerEndIsAtMostTheThreshold(double value, double low, double high) {
        assertEquals(Verdict.UNDECIDED, Verdict.of(new Ratio(value, low, high), THRESHOLD));
    }

    @Test
    void isSlowerIfTheLowerEndIsAboveTheThreshold() {
        assertEquals(Verdict.SLOWER, Verdict.of(new Ratio(1.05, 1.0301, 1.07), THRESHOLD));
    }

    @Test
    void theExitStatusIsZeroOnlyIfAllPass() {
        assertEquals(0, Verdict.exitStatus(List.of(Verdict.PASS, Verdict.PASS)));
        assertEquals(3, Verdict.exitStatus(List.of(Verdict.PASS, Verdict.UNDECIDED)));
        assertEquals(1, Verdict.exitStatus(List.of(Verdict.UNDECIDED, Verdict.SLOWER, Verdict.PASS)));
    }
}
