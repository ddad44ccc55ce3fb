package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceTest {
    @TempDir
    private Path folder;

    @Test
    void numbersSlotsAndStreamsDensely() throws IOException {
        final Path file = folder.resolve("some.csv");
        Files.writeString(file, """
                op,id,bytes,stream
                a,100,10,7
                a,200,20,3
                f,100,10,7
                a,300,30,7
                """);
        final Trace trace = Trace.read(file);
        assertThat(trace.name()).isEqualTo("some.csv");
        assertThat(trace.eventCount()).isEqualTo(4);
        assertThat(trace.allocationCount()).isEqualTo(3);
        assertThat(trace.liveAtEnd()).isEqualTo(2);
        assertThat(trace.slotCount()).isEqualTo(2);
        assertThat(trace.streamCount()).isEqualTo(2);
        assertThat(trace.peakLiveBytes()).isEqualTo(50);
        assertThat(trace.isAllocation(2)).isFalse();
        assertThat(trace.slot(2)).isZero();
        assertThat(trace.byteSize(2)).isEqualTo(10);
        assertThat(trace.stream(2)).isZero();
        assertThat(trace.isAllocation(3)).isTrue();
        assertThat(trace.slot(3)).isZero();
        assertThat(trace.stream(1)).isEqualTo(1);
        assertThat(trace).hasToString("some.csv (4 events)");
    }

    @Test
    void countsMoreLiveBytesThanALongCanHold() throws IOException {
        final Path file = folder.resolve("huge.csv");
        Files.writeString(file, """
                op,id,bytes,stream
                a,0,9223372036854775552,0
                a,1,9223372036854775552,0
                f,0,9223372036854775552,0
                f,1,9223372036854775552,0
                """);
        assertThat(Trace.read(file).peakLiveBytes()).isEqualTo(Long.MAX_VALUE);
    }

    @ParameterizedTest
    @CsvSource({
        "gpt2,        157934,  567300537, 0, 1",
        "bert,         16798,  525715752, 0, 1",
        "frcnn,         8128, 2177451979, 0, 1",
        "llama_train,  13153, 3188701512, 1, 1",
        "resnet,        3966,  313663560, 2, 1",
        "two_streams,   7407,  388179536, 5, 3"
    })
    void bundlesTheTracesOfTheReadme(String name, int events, long peak, int liveAtEnd, int streams)
            throws TraceException {
        final Trace trace = Trace.bundled(name);
        assertThat(trace.name()).isEqualTo(name + ".csv.gz");
        assertThat(trace.eventCount()).isEqualTo(events);
        assertThat(trace.peakLiveBytes()).isEqualTo(peak);
        assertThat(trace.liveAtEnd()).isEqualTo(liveAtEnd);
        assertThat(trace.streamCount()).isEqualTo(streams);
    }

    @Test
    void rejectsANameThatIsNotBundled() {
        assertThat(Trace.bundledNames()).hasSize(6).startsWith("gpt2");
        assertThatThrownBy(() -> Trace.bundled("gpt3"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("gpt2, bert");
    }
}
