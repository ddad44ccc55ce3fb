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

class ResultTableTest {
    @TempDir
    private Path folder;

    private String page(String rows) throws IOException {
        final Measurements measurements = Measurements.read(Files.writeString(folder.resolve("results.csv"), rows));
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        ResultTable.print(measurements, List.of("machine: mine"), new PrintStream(out, false, StandardCharsets.UTF_8));
        return out.toString(StandardCharsets.UTF_8).replace(System.lineSeparator(), "\n");
    }

    /** Rows of one trace: 100 MiB requested, compact with the figures given. */
    private static String rows(String trace, double held, double warm, double calls) {
        return """
                cuda-arena,%1$s,1,ns_per_event_cold,100
                cuda-arena,%1$s,1,ns_per_event_warm,50
                cuda-arena,%1$s,1,peak_held_bytes,209715200
                cuda-arena,%1$s,1,peak_requested_bytes,104857600
                cuda-arena direct,%1$s,1,heap_bytes_per_event,0.01
                cuda-arena compact,%1$s,1,ns_per_event_cold,500
                cuda-arena compact,%1$s,1,ns_per_event_warm,%3$f
                cuda-arena compact,%1$s,1,peak_held_bytes,%2$f
                cuda-arena compact,%1$s,1,peak_requested_bytes,104857600
                cuda-arena compact direct,%1$s,1,peak_held_bytes,%2$f
                cuda-arena compact direct,%1$s,1,page_calls_settled,%4$f
                cuda-arena compact direct,%1$s,1,page_ns_per_event_settled,2.5
                cuda-arena compact direct,%1$s,1,peak_mapped_bytes,157286400
                cuda-arena compact direct,%1$s,1,heap_bytes_per_event,0.02
                PyTorch expandable,%1$s,1,ns_per_event_cold,200
                PyTorch expandable,%1$s,1,ns_per_event_warm,110
                """.formatted(trace, held * (100 << 20), warm, calls);
    }

    @Test
    void hasTheFiguresOfCompactInColumnsOfTheirOwn() throws IOException {
        final String page = page(rows("bert", 1.04, 48, 12));
        assertThat(page)
                .startsWith("# CUDA providers beside their rivals\n\n- machine: mine\n")
                .contains("""
                        ## Held at the peak, MiB, and divided by what was requested; "direct" after several dozen replays

                        | trace | cuda-arena | cuda-arena compact | cuda-arena compact direct |
                        |---|---:|---:|---:|
                        | bert | 200 (2.00) | 104 (1.04) | 104 (1.04) |

                        ## Addresses mapped at the peak, MiB, and divided by what was requested

                        | trace | cuda-arena compact direct |
                        |---|---:|
                        | bert | 150 (1.50) |

                        ## Pages mapped and unmapped in a settled warm replay

                        | trace | cuda-arena compact direct |
                        |---|---:|
                        | bert | 12.0 |

                        ## Nanoseconds per event in calls for pages, in a settled warm replay

                        | trace | cuda-arena compact direct |
                        |---|---:|
                        | bert | 2.50 |
                        """);
    }

    @Test
    void twoThreadsHaveRowsOfTheirOwnAndNoColumnElsewhere() throws IOException {
        final String page = page(rows("bert", 1.04, 48, 0) + """
                cuda-arena direct,bert,2,peak_requested_bytes,209715200
                cuda-arena direct,bert,2,peak_held_bytes,419430400
                cuda-arena direct,bert,2,ns_per_event_warm,60
                cuda-arena compact direct,bert,2,peak_requested_bytes,209715200
                cuda-arena compact direct,bert,2,peak_held_bytes,251658240
                cuda-arena compact direct,bert,2,ns_per_event_warm,70
                cuda-arena compact direct,bert,2,page_calls_settled,3
                """);
        assertThat(page).contains("""
                        | trace, allocator | requested at once, MiB | held, MiB (/ requested) | ns per event | pages mapped and unmapped per replay |
                        |---|---:|---:|---:|---:|
                        | bert, cuda-arena direct | 200 | 400 (2.00) | 60.0 |  |
                        | bert, cuda-arena compact direct | 200 | 240 (1.20) | 70.0 | 3.00 |
                        """).contains("| trace | cuda-arena | cuda-arena compact | PyTorch expandable |\n");
    }

    @Test
    void whatWasNotMeasuredIsEmpty() throws IOException {
        assertThat(page("cuda-arena,mine,1,ns_per_event_warm,50\n"))
                .contains("| mine | 50.0 |\n")
                .doesNotContain("NaN");
        assertThat(page("")).startsWith("# CUDA providers beside their rivals").doesNotContain("NaN");
    }
}
