package allocator.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("thorough")
class TwoThreadsBenchmarkTest {
    private static final String SUBJECT = "cpu-reference compact direct";

    private static final String TRACE = """
                op,id,bytes,stream
                a,0,3000000,0
                a,1,5000000,1
                f,0,3000000,0
                a,2,4000000,0
                """;

    /** All blocks of both threads, each with a part of a page at either end. */
    private static final double MOST_HELD = 2 * (12_000_000 + 3 * 2 * (256 << 10));

    @TempDir
    private Path folder;

    /** Where one stream is busy with all free addresses, a request of the other is no shortage. */
    @RepeatedTest(40)
    void neitherThreadRunsOutOfAddresses() throws Exception {
        final Path trace = Files.writeString(folder.resolve("mine.csv"), TRACE);
        final String results = folder.resolve("results.csv").toString();
        assertThatCode(() ->
                        TwoThreadsBenchmark.main(new String[] {results, "cpu-reference", trace.toString(), "compact"}))
                .doesNotThrowAnyException();
    }

    /**
     * The host has the same counters of pages as a device. How far the threads overlap is up to the scheduler: where
     * they do not, each may hold all its blocks while the other has none.
     */
    @Test
    void heldIsComparedWithWhatBothThreadsRequestedAtOnce() throws Exception {
        final Path trace = Files.writeString(folder.resolve("mine.csv"), TRACE);
        final Path results = folder.resolve("results.csv");
        TwoThreadsBenchmark.main(new String[] {results.toString(), "cpu-reference", trace.toString(), "compact"});

        final Measurements measured = Measurements.read(results);
        assertThat(measured.requested(SUBJECT, "mine", 2)).isBetween(9_000_000.0, 18_000_000.0);
        assertThat(measured.heldOverRequested(SUBJECT, "mine", 2))
                .isBetween(1.0, MOST_HELD / measured.requested(SUBJECT, "mine", 2));
        assertThat(measured.value(SUBJECT, "mine", 2, "ns_per_event_warm")).isPositive();
        assertThat(measured.value(SUBJECT, "mine", 2, "page_calls_settled")).isNotNegative();
        assertThat(measured.value(SUBJECT, "mine", 2, "peak_mapped_bytes")).isGreaterThanOrEqualTo(9_000_000);
    }
}
