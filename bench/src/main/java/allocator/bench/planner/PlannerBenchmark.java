package allocator.bench.planner;

import allocator.plan.Instance;
import allocator.plan.Plan;
import allocator.plan.PlanFile;
import allocator.planner.Planner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How long it takes to fit MiniMalloc's inputs into their capacity, which is part of their names. A plan that does not
 * fit fails. MiniMalloc plans beside ours if the system property {@value #MINIMALLOC} names its program, whose start is
 * part of its time.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 20)
@Measurement(iterations = 5)
public class PlannerBenchmark {
    static final String MINIMALLOC = "allocator.bench.minimalloc";

    private static final Path FOLDER = Path.of("modules/planner/src/test/resources/allocator/planner/minimalloc");
    private static final Duration LONGEST = Duration.ofSeconds(60);

    /** The input: a file, or the name of one of MiniMalloc's challenging ones. */
    @Param({
        "A.1048576.csv",
        "B.1048576.csv",
        "C.1048576.csv",
        "D.1048576.csv",
        "E.1048576.csv",
        "F.1048576.csv",
        "G.1048576.csv",
        "H.1048576.csv",
        "I.1048576.csv",
        "J.1048576.csv",
        "K.1048576.csv"
    })
    public String input = "";

    private Path file = FOLDER;
    private long capacity;
    private @Nullable Instance instance;

    /** Reads the input. */
    @Setup
    public void read() throws IOException {
        file = Files.exists(Path.of(input)) ? Path.of(input) : FOLDER.resolve(input);
        capacity = Long.parseLong(file.getFileName().toString().split("\\.", -1)[1]);
        instance = PlanFile.read(file).instance();
    }

    /** Plans. */
    @Benchmark
    public Plan ours() {
        final Plan plan =
                Planner.builder().capacity(capacity).timeLimit(LONGEST).build().plan(Objects.requireNonNull(instance));
        if (!plan.fits(capacity)) {
            throw new IllegalStateException(file + " does not fit");
        }
        return plan;
    }

    /** Plans with MiniMalloc's program. */
    @Benchmark
    public void minimalloc() throws IOException, InterruptedException {
        final Path output = Files.createTempFile("minimalloc", ".csv");
        try {
            final int status = new ProcessBuilder(
                            Objects.requireNonNull(System.getProperty(MINIMALLOC), "no " + MINIMALLOC),
                            "--capacity=" + capacity,
                            "--input=" + file,
                            "--output=" + output)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start()
                    .waitFor();
            if (status != 0) {
                throw new IOException("MiniMalloc ended with status " + status + " on " + file);
            }
        } finally {
            Files.delete(output);
        }
    }
}
