package allocator.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.trace.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReplayBenchmarkTest {
    @TempDir
    private Path folder;

    @Test
    void aTraceIsAFileOrABundledOne() throws IOException {
        final Path file = Files.writeString(folder.resolve("mine.csv"), "op,id,bytes,stream\na,0,1,0\n");
        final Trace mine = ReplayBenchmark.load(file.toString());
        assertThat(mine.eventCount()).isEqualTo(1);
        assertThat(ReplayBenchmark.workload(mine)).isEqualTo("mine");
        assertThat(ReplayBenchmark.workload(ReplayBenchmark.load("resnet"))).isEqualTo("resnet");
    }
}
