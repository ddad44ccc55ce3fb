package allocator.trace;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.EpFactory;
import allocator.testkit.DecoratedFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** A recorded allocator keeps the whole contract. Only the end of a stack ends a recording. */
@Tag("thorough")
class RecordedAllocatorConformanceTest extends AllocatorConformance {
    @TempDir
    private static Path folder;

    private static final List<Recorder> RECORDERS = new ArrayList<>();

    @AfterAll
    static void closeTheLast() {
        RECORDERS.forEach(RecordedAllocatorConformanceTest::close);
        RECORDERS.clear();
    }

    private static void close(Recorder recorder) {
        try {
            recorder.close();
        } catch (IOException e) {
            assertThat(e).hasCauseInstanceOf(StackOverflowError.class);
        }
    }

    private static Recorder recorder() {
        if (RECORDERS.isEmpty() || RECORDERS.getLast().failure != null) {
            try {
                RECORDERS.add(new Recorder(folder.resolve("kit" + RECORDERS.size() + ".csv")));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return RECORDERS.getLast();
    }

    @Override
    protected EpFactory factory() {
        return new DecoratedFactory(
                new CpuReferenceFactory(), allocator -> recorder().wrap(allocator));
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
