package allocator.bench.pairs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CompareTest {
    private static final int USAGE = 2;

    private final Map<String, Compare.Samples> samples = new LinkedHashMap<>();

    private void add(String workload, List<Double> a, List<Double> b) {
        final Compare.Samples cell = new Compare.Samples();
        cell.a.addAll(a);
        cell.b.addAll(b);
        samples.put(workload, cell);
    }

    @Test
    void tellsWhatIsSlowerBeyondDoubt() {
        add("large", List.of(100.0, 100.0, 100.0), List.of(110.0, 111.0, 112.0));
        add("replay", List.of(100.0, 100.0, 100.0), List.of(90.0, 91.0, 92.0));
        add("small", List.of(100.0, 100.0, 100.0), List.of(90.0, 110.0, 300.0));

        assertEquals("""
                workload            A ns      B ns   B / A     95 % interval
                large              100.0     111.0   1.110    1.100 to 1.120  slower than the threshold of 1.050
                replay             100.0      91.0   0.910    0.900 to 0.920  faster
                small              100.0     110.0   1.100    0.900 to 3.000  no difference seen
                """, Compare.table(samples, 1.05));
        assertTrue(Compare.isSlower(samples, 1.05));
        assertTrue(Compare.isSlower(samples, 1.09));
        assertFalse(Compare.isSlower(samples, 1.1));
        assertTrue(Compare.table(samples, 1.11).contains("1.100 to 1.120  slower\n"));
    }

    @Test
    void whatMayBeNoiseIsNoRegression() {
        add("small", List.of(100.0, 100.0, 100.0), List.of(90.0, 200.0, 300.0));

        assertFalse(Compare.isSlower(samples, 1.05));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--workloads=huge | no workload is called 'huge'",
                "--rounds=4 | --rounds takes numbers from 5",
                "--threads=0 | --threads from 1",
                "--threshold=0 | --threshold above 0",
                "--threshold=NaN | --threshold above 0",
                "--subject=malloc | --subject takes arena, arena-quick or arena-streams: malloc",
                "--subject=x | no subject is called 'x'",
                "--fast | Unknown option: '--fast'"
            })
    void wrongOptionsAreToldAndNothingRuns(String option, String message) {
        final Console console = new Console();

        assertEquals(USAGE, Compare.execute(console.out(), console.err(), "--a=a", "--b=b", option));
        assertTrue(console.errors().contains(message), console::errors);
    }
}
