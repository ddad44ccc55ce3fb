package allocator.simulation.model;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.simulation.world.TracedProgram;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an arena does with the requests of recorded models is what the model allows. */
class RecordedTracesTest {
    private static final Path TRACES = Path.of("../../traces").toAbsolutePath();

    @ParameterizedTest
    @CsvSource({"two_streams,false", "two_streams,true"})
    void twoStreamsAreServedAsTheModelAllows(String trace, boolean isPaged) throws Throwable {
        check(trace, isPaged);
    }

    @ParameterizedTest
    @CsvSource({
        "bert,false",
        "bert,true",
        "frcnn,false",
        "frcnn,true",
        "llama_train,false",
        "llama_train,true",
        "resnet,false",
        "resnet,true",
        "gpt2,false",
        "gpt2,true"
    })
    @Tag("thorough")
    void everyRecordedModelIsServedAsTheModelAllows(String trace, boolean isPaged) throws Throwable {
        check(trace, isPaged);
    }

    private static void check(String trace, boolean isPaged) throws Throwable {
        final List<String> requests = requests(trace);
        final List<String> events = TracedProgram.replay(requests.stream(), isPaged);
        TraceChecker.check(events);
        final Stream<String> allocated = events.stream().filter(event -> event.startsWith("allocate "));
        assertThat(allocated.count())
                .isEqualTo(
                        requests.stream().filter(line -> line.startsWith("a,")).count());
    }

    private static List<String> requests(String trace) throws IOException {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                new GZIPInputStream(Files.newInputStream(TRACES.resolve(trace + ".csv.gz"))),
                StandardCharsets.US_ASCII))) {
            return reader.readAllLines();
        }
    }
}
