package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.runtime.Environment;
import allocator.runtime.RunOptions;
import allocator.runtime.Session;
import allocator.runtime.SessionOptions;
import allocator.spi.AllocatorOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of docs/modules/java.allocator.trace.md. */
class TraceExamplesTest {
    @TempDir
    private Path folder;

    @Test
    void recordAndReplay() throws IOException {
        final Path file = folder.resolve("model.csv.gz");
        try (Environment environment = Environment.builder().build()) {
            try (Recorder recorder = new Recorder(file);
                    Session session = environment.openSession(
                            SessionOptions.builder().decorator(recorder::wrap).build())) {
                session.run(RunOptions.DEFAULT, run -> {
                    final long activations = run.allocator().alloc(1 << 20);
                    run.allocator().free(activations);
                });
            }

            final AllocatorOptions settings = AllocatorOptions.of(Map.of("arena.extend_strategy", "1"));
            final Replay replay = new Replay(environment, environment.devices().getFirst(), settings);
            final ReplayResult result = replay.measure(Trace.read(file), ReplayListener.NONE);
            System.out.printf(
                    "%d bytes held for %d requested, %.0f ns per event%n",
                    result.peakHeldBytes(), result.peakRequestedBytes(), result.nsPerEventWarm());

            assertThat(result.peakHeldBytes()).isEqualTo(1 << 20);
            assertThat(result.events()).isEqualTo(2);
        }
    }
}
