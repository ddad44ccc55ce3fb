package allocator.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OrtArenaTableTest {
    @TempDir
    private Path folder;

    private String page(String rows) throws IOException {
        final Measurements measurements = Measurements.read(Files.writeString(folder.resolve("results.csv"), rows));
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        OrtArenaTable.print(
                measurements, List.of("machine: mine"), new PrintStream(out, false, StandardCharsets.UTF_8));
        return out.toString(StandardCharsets.UTF_8).replace(System.lineSeparator(), "\n");
    }

    @Test
    void theRatioIsGivenWithTheDowncallAndWithout() throws IOException {
        assertThat(page("""
                onnxruntime-cuda direct,bert,1,ns_per_event_first,900
                onnxruntime-cuda direct,bert,1,ns_per_event_warm,110
                onnxruntime-cuda direct,bert,1,peak_held_bytes,2097152
                empty-call direct,bert,1,ns_per_event_first,800
                empty-call direct,bert,1,ns_per_event_warm,10
                cuda-arena direct,bert,1,ns_per_event_first,450
                cuda-arena direct,bert,1,ns_per_event_warm,50
                cuda-arena compact direct,bert,1,ns_per_event_warm,60
                cuda-mempool direct,bert,1,ns_per_event_warm,400
                cuda-arena session,pairs,1,ns_per_warm_pair,100
                cuda-arena session; device limit,pairs,1,ns_per_warm_pair,101
                cuda-arena session; device limit,pairs,1,ns_added_by_budget,-0.5
                """))
                .startsWith("# ONNX Runtime's CUDA arena beside ours\n\n- machine: mine\n")
                .contains("""
                        | bert | 110 | 10.0 | 50.0 | 60.0 | 400 | 2.20 | 2.00 |
                        """, """
                        | trace | onnxruntime | cuda-arena |
                        |---|---:|---:|
                        | bert | 900 | 450 |
                        """, """
                        | trace | onnxruntime |
                        |---|---:|
                        | bert | 2.00 |
                        """, """
                        | cuda-arena session | 100 |  |
                        | cuda-arena session, device limit | 101 | -0.50 |
                        """);
    }

    @Test
    void whatWasNotMeasuredIsEmpty() throws IOException {
        assertThat(page("cuda-arena direct,mine,1,ns_per_event_warm,50\n"))
                .contains("| mine |  |  | 50.0 |  |  |  |  |\n")
                .doesNotContain("NaN");
    }
}
