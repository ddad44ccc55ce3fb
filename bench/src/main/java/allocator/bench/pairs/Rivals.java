package allocator.bench.pairs;

import allocator.bench.CpuTimeProfiler;
import allocator.bench.report.KeptPage;
import allocator.bench.report.Picture;
import allocator.bench.subject.SubjectType;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.util.Statistics;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Our arena beside its rivals: JMH runs {@link AllocFreePair} and {@link Footprint} for each subject and workload, in
 * rounds. In a round the subjects of a workload run one right after the other, and another one is first each time, so
 * that all of them see the same disturbances of the machine.
 */
@Command(
        name = "bench/run",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        description = {
            "Measures allocation and free of our arena beside its rivals, by JMH.",
            "bench/run jmh PATTERN [OPTION ...] runs any JMH benchmarks."
        })
public final class Rivals implements Callable<Integer> {
    static final String CPU_NS = "cpu_ns";
    static final String WALL_NS = "wall_ns";
    static final String P50_NS = "p50_ns";
    static final String P99_NS = "p99_ns";
    static final String P999_NS = "p999_ns";
    static final String MAX_NS = "max_ns";
    static final String HEAP_BYTES = "heap_bytes";
    static final String RESIDENT_OVER_LIVE = "rss_over_live";
    static final String HELD_OVER_LIVE = "held_over_live";
    static final String HEAP_PER_BLOCK = "heap_bytes_per_block";

    private static final int ROUNDS = 3;

    @Option(names = "--quick", description = "One short round of fewer subjects: a first look, not a result.")
    private boolean isQuick;

    @Option(names = "--rounds", paramLabel = "N", description = "How often pairs are measured (default: 3, quick 1).")
    private int rounds;

    @Option(names = "--subjects", split = ",", paramLabel = "NAME", description = "What to measure, with commas.")
    private List<String> subjectNames = List.of();

    @Option(names = "--workloads", split = ",", paramLabel = "NAME", description = "Under what, with commas.")
    private List<String> workloadNames = List.of();

    @Option(
            names = "--threads",
            split = ",",
            paramLabel = "N",
            description = "Numbers of threads (default: 1,2; 1 for traces and scales unless --workloads names them).")
    private List<Integer> threads = List.of(1, 2);

    @Option(names = "--library", paramLabel = "NAME=FILE", description = "A native library, such as jemalloc=FILE.")
    private Map<String, Path> libraries = Map.of();

    @Option(names = "--no-memory", description = "Leave out the runs that touch memory.")
    private boolean leavesOutMemory;

    @Option(names = "--draw", paramLabel = "NAME", description = "Only draw bench/results/NAME.svg from NAME.csv.")
    private @Nullable String drawn;

    @Mixin
    private final KeptPage kept = new KeptPage();

    private final Figures figures = new Figures();
    private final List<String> leftOut = new ArrayList<>();
    private final PrintStream out;

    private Rivals(PrintStream out) {
        this.out = out;
    }

    /** Measures and returns the exit status. */
    static int execute(PrintStream out, PrintStream err, String... args) {
        return new CommandLine(new Rivals(out))
                .setErr(new PrintWriter(err, true, err.charset()))
                .execute(args);
    }

    public static void main(String[] args) {
        System.exit(execute(System.out, System.err, args));
    }

    @Override
    public Integer call() throws IOException, RunnerException {
        kept.requireName();
        kept.requireFileName("--draw", drawn);
        if (drawn != null) {
            drawOnly(drawn);
            return 0;
        }
        if (rounds < 0 || threads.stream().anyMatch(count -> count < 1)) {
            throw kept.failure("--rounds and --threads take numbers from 1");
        }
        final List<String> workloads = workloads();
        final List<SubjectType> subjects = subjects();
        final int count = rounds > 0 ? rounds : isQuick ? 1 : ROUNDS;
        for (int round = 1; round <= count; round++) {
            for (final String workload : workloads) {
                for (final int threadCount : threads(workload)) {
                    measure(round, subjects, workload, threadCount);
                }
            }
            Collections.rotate(subjects, -1);
        }
        if (!isQuick && !leavesOutMemory) {
            for (final String workload : workloads) {
                measureMemory(subjects, workload);
            }
        }
        report(subjects, count);
        return 0;
    }

    private List<String> workloads() {
        if (!workloadNames.isEmpty()) {
            return orWrong(() -> {
                workloadNames.forEach(Workload::requireKnown);
                return workloadNames.stream().distinct().toList();
            });
        }
        return isQuick ? Workload.PAIRS : Workload.names();
    }

    /** The subjects that can be opened here. */
    private List<SubjectType> subjects() {
        libraries.forEach((name, file) -> {
            final SubjectType type = orWrong(() -> SubjectType.of(name));
            if (!type.needsLibrary()) {
                throw kept.failure(type + " takes no library");
            }
            if (!Files.isReadable(file)) {
                throw kept.failure("no library to read: " + file);
            }
            System.setProperty(type.libraryProperty(), file.toAbsolutePath().toString());
        });
        final List<SubjectType> wanted = !subjectNames.isEmpty()
                ? orWrong(() -> SubjectType.parse(subjectNames))
                : isQuick ? SubjectType.FEW : SubjectType.USUAL;
        final List<SubjectType> usable = new ArrayList<>();
        for (final SubjectType type : wanted) {
            if (type.needsLibrary() && type.findLibrary().isEmpty()) {
                leftOut.add(type + " (no library found)");
            } else if (type.needsOnnxRuntime()
                    && ModuleLayer.boot()
                            .findModule("com.microsoft.onnxruntime")
                            .isEmpty()) {
                leftOut.add(type + " (ONNX Runtime is not here)");
            } else {
                usable.add(type);
            }
        }
        if (usable.isEmpty()) {
            throw kept.failure("nothing is left to measure: " + String.join("; ", leftOut));
        }
        return usable;
    }

    private <T> T orWrong(Supplier<T> parser) {
        try {
            return parser.get();
        } catch (IllegalArgumentException e) {
            throw kept.failure(String.valueOf(e.getMessage()));
        }
    }

    private List<Integer> threads(String workload) {
        return !workloadNames.isEmpty() || Workload.PAIRS.contains(workload) ? threads : List.of(1);
    }

    /** Whether a subject is measured under a workload: not everything is that was not asked for by name. */
    private boolean includes(SubjectType type, String workload) {
        if (!subjectNames.isEmpty() || Workload.PAIRS.contains(workload)) {
            return true;
        }
        return Workload.SCALES.contains(workload) ? SubjectType.SCALED.contains(type) : !type.zeroes();
    }

    private void measure(int round, List<SubjectType> subjects, String workload, int threadCount)
            throws RunnerException {
        final ChainedOptionsBuilder pairs = options(AllocFreePair.class, "pair", subjects, workload)
                .threads(threadCount)
                .addProfiler(CpuTimeProfiler.class)
                .addProfiler(GCProfiler.class);
        for (final Sample sample : run(quick(pairs))) {
            sample.add(figures, round, WALL_NS, sample.primary().getScore());
            sample.add(figures, round, CPU_NS, sample.secondary(CpuTimeProfiler.THREADS_RESULT));
            sample.add(figures, round, HEAP_BYTES, sample.secondary("gc.alloc.rate.norm"));
        }
        for (final SubjectType type : subjects) {
            final Figures.Row row = new Figures.Row(type.toString(), workload, threadCount, WALL_NS);
            if (includes(type, workload) && !figures.has(row)) {
                leftOut.add(type + " under " + workload + " failed");
            }
        }
        if (round > 1 || isQuick) {
            return;
        }
        for (final Sample sample : run(
                options(AllocFreePair.class, "operation", subjects, workload).threads(threadCount))) {
            final Statistics times = sample.primary().getStatistics();
            sample.add(figures, round, P50_NS, times.getPercentile(50));
            sample.add(figures, round, P99_NS, times.getPercentile(99));
            sample.add(figures, round, P999_NS, times.getPercentile(99.9));
            sample.add(figures, round, MAX_NS, times.getMax());
        }
    }

    private void measureMemory(List<SubjectType> subjects, String workload) throws RunnerException {
        if (!Workload.PAIRS.contains(workload)) {
            return; // bench/run held shows what is held under a trace
        }
        for (final Sample sample : run(options(Footprint.class, "touch", subjects, workload))) {
            sample.addKnown(figures, RESIDENT_OVER_LIVE, sample.secondary("residentOverLive"));
            sample.addKnown(figures, HELD_OVER_LIVE, sample.secondary("heldOverLive"));
            sample.addKnown(figures, HEAP_PER_BLOCK, sample.secondary("heapBytesPerBlock"));
        }
    }

    private ChainedOptionsBuilder options(
            Class<?> benchmark, String method, List<SubjectType> subjects, String workload) {
        return new OptionsBuilder()
                .include("^" + Pattern.quote(benchmark.getName() + "." + method) + "$")
                .forks(1)
                .jvmArgsPrepend(subjects.stream()
                        .filter(type -> System.getProperty(type.libraryProperty()) != null)
                        .map(type -> "-D" + type.libraryProperty() + "=" + System.getProperty(type.libraryProperty()))
                        .toArray(String[]::new))
                .param("workload", workload)
                .param(
                        "subject",
                        subjects.stream()
                                .filter(type -> includes(type, workload))
                                .map(SubjectType::toString)
                                .toArray(String[]::new));
    }

    private ChainedOptionsBuilder quick(ChainedOptionsBuilder options) {
        return isQuick
                ? options.warmupIterations(2)
                        .warmupTime(TimeValue.milliseconds(250))
                        .measurementIterations(3)
                        .measurementTime(TimeValue.milliseconds(50))
                : options;
    }

    /** An iteration of JMH. */
    private record Sample(RunResult run, IterationResult iteration) {
        Result<?> primary() {
            return iteration.getPrimaryResult();
        }

        double secondary(String name) {
            final Result<?> result = iteration.getSecondaryResults().get(name);
            return result == null ? Double.NaN : result.getScore();
        }

        void add(Figures figures, int round, String metric, double value) {
            final Figures.Row row = new Figures.Row(
                    run.getParams().getParam("subject"),
                    run.getParams().getParam("workload"),
                    run.getParams().getThreads(),
                    metric);
            figures.add(round, row, value);
        }

        /** Adds a figure that is 0 where it is not known. */
        void addKnown(Figures figures, String metric, double value) {
            if (value != 0) {
                add(figures, 1, metric, value);
            }
        }
    }

    private static List<Sample> run(ChainedOptionsBuilder options) throws RunnerException {
        final List<Sample> samples = new ArrayList<>();
        for (final RunResult run : new Runner(options.build()).run()) {
            for (final BenchmarkResult fork : run.getBenchmarkResults()) {
                fork.getIterationResults().forEach(iteration -> samples.add(new Sample(run, iteration)));
            }
        }
        return samples;
    }

    private void report(List<SubjectType> subjects, int count) throws IOException {
        final String page = """
                # Allocation and free beside the rivals

                %s- rivals: %s
                - rounds of pairs: %d, in JVMs of their own; a figure is the median of the rounds (lowest–highest)
                - left out: %s
                %s""".formatted(
                        kept.head(),
                        rivals(subjects),
                        count,
                        leftOut.isEmpty() ? "nothing" : String.join("; ", leftOut),
                        new RivalsTable(figures).toMarkdown());
        out.println(page);
        kept.write(page);
        final Optional<Path> csv = kept.kept(".csv");
        if (csv.isPresent()) {
            Files.writeString(csv.get(), figures.toCsv());
            draw(figures, kept.kept(".svg").orElseThrow());
        }
    }

    /** What is not ours, with its release or file. */
    private static String rivals(List<SubjectType> subjects) {
        return subjects.stream()
                .sorted()
                .flatMap(type -> type
                        .version()
                        .or(() -> type.findLibrary()
                                .map(file -> file.getFileName().toString()))
                        .map(text -> type + " " + text)
                        .stream())
                .collect(Collectors.joining(", "));
    }

    /** Draws the figures; a Java runtime need not be able to. */
    private boolean draw(Figures drawnFigures, Path file) throws IOException {
        if (!Picture.isPossible()) {
            out.println("no picture: this Java runtime cannot draw; --draw makes it elsewhere from the CSV");
            return false;
        }
        System.setProperty("java.awt.headless", "true");
        return new RivalsPicture(drawnFigures).write(file);
    }

    private void drawOnly(String name) throws IOException {
        final Path csv = kept.file(name + ".csv");
        try {
            if (!draw(Figures.parse(Files.readAllLines(csv)), kept.file(name + ".svg"))) {
                throw kept.failure("nothing to draw in " + csv);
            }
        } catch (NoSuchFileException e) {
            throw kept.failure("no such file: " + csv);
        } catch (IllegalArgumentException e) {
            throw kept.failure(csv + " is not what --keep writes: " + e.getMessage());
        }
    }
}
