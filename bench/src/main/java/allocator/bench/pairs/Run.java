package allocator.bench.pairs;

import allocator.bench.subject.SubjectType;
import allocator.trace.Trace;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures pairs of a free and an allocation of several subjects in rounds, and writes a table, a CSV and a picture. In
 * a round every subject runs each group of workloads once, in a JVM of its own, one subject right after the other and
 * another one first each time, so that all of them see the same disturbances of the machine.
 */
@Command(
        name = "bench/run",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        description = {
            "Measures allocation and free of our arena beside its rivals.",
            "bench/run jmh PATTERN [OPTION ...] runs the JMH benchmarks instead."
        })
public final class Run implements Callable<Integer> {
    private static final int ROUNDS = 3;

    @Spec
    private @Nullable CommandSpec spec;

    @Option(names = "--quick", description = "One short round of fewer subjects: a first look, not a result.")
    private boolean isQuick;

    @Option(names = "--rounds", paramLabel = "N", description = "How often everything is measured (default: 3).")
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

    @Option(names = "--keep", paramLabel = "NAME", description = "Write bench/results/NAME.md, .csv, .svg.")
    private @Nullable String name;

    @Option(names = "--draw", paramLabel = "NAME", description = "Only draw bench/results/NAME.svg from NAME.csv.")
    private @Nullable String drawn;

    @Option(names = "--results", hidden = true, description = "The folder for --keep.")
    private Path folder = Path.of("bench/results");

    @Option(names = "--commit", hidden = true, description = "What is measured.")
    private String commit = "unknown";

    private final List<String> leftOut = new ArrayList<>();
    private final Map<SubjectType, Path> found = new EnumMap<>(SubjectType.class);
    private final Results results = new Results();
    private final PrintStream out;
    private final PrintStream progress;
    private final Launcher launcher = Launcher.withOwnModules();
    private Path output = Path.of("");

    private Run(PrintStream out, PrintStream progress) {
        this.out = out;
        this.progress = progress;
    }

    /** Runs the benchmark and returns the exit status. */
    static int execute(PrintStream out, PrintStream err, String... args) {
        return new CommandLine(new Run(out, err))
                .setErr(new PrintWriter(err, true, err.charset()))
                .execute(args);
    }

    /**
     * Runs the benchmark and ends the JVM.
     *
     * @param args the options
     */
    public static void main(String[] args) {
        System.exit(execute(System.out, System.err, args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        requireFileName("--keep", name);
        requireFileName("--draw", drawn);
        if (drawn != null) {
            return drawOnly(drawn);
        }
        if (rounds < 0 || threads.stream().anyMatch(count -> count < 1)) {
            throw wrong("--rounds and --threads take numbers from 1");
        }
        final List<SubjectType> subjects = usable(subjects());
        final List<String> workloads = workloads();
        if (subjects.isEmpty()) {
            throw wrong("nothing is left to measure: " + String.join("; ", leftOut));
        }
        final int count = rounds > 0 ? rounds : isQuick ? 1 : ROUNDS;

        final Path temporary = Files.createTempDirectory("bench");
        output = temporary.resolve("output");
        try {
            final String loadBefore = Machine.load();
            final long begin = System.nanoTime();
            for (int round = 1; round <= count; round++) {
                measure(round, count, subjects, workloads);
            }
            if (!leavesOutMemory && !isQuick) {
                measureMemory(subjects, workloads);
            }
            final long seconds = (System.nanoTime() - begin) / 1_000_000_000;
            final List<String> facts = List.of(
                    "machine: " + Machine.description(),
                    "JDK: " + Machine.jdk(),
                    "commit: " + commit,
                    "date: " + LocalDate.now(ZoneOffset.UTC),
                    "load average: " + loadBefore + " before, " + Machine.load() + " after",
                    "rivals: " + rivals(subjects),
                    "rounds: " + count + ", in " + seconds + " s; " + plan().describe(),
                    "left out: " + (leftOut.isEmpty() ? "nothing" : String.join("; ", leftOut)));
            report(facts);
        } finally {
            try (var files = Files.list(temporary)) {
                files.forEach(Run::delete);
            }
            Files.delete(temporary);
        }
        return 0;
    }

    private void requireFileName(String option, @Nullable String fileName) {
        if (fileName != null && !fileName.matches("[A-Za-z0-9][A-Za-z0-9._-]*")) {
            throw wrong(option + " takes letters, digits, '.', '_' and '-': " + fileName);
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }

    /** What is not ours, with its release or file. */
    private String rivals(List<SubjectType> subjects) {
        return subjects.stream()
                .map(type -> type
                        + type.version()
                                .or(() -> Optional.ofNullable(found.get(type))
                                        .map(file -> file.getFileName().toString()))
                                .map(text -> " " + text)
                                .orElse(""))
                .filter(text -> text.contains(" "))
                .collect(Collectors.joining(", "));
    }

    private Plan plan() {
        return isQuick ? Plan.QUICK : Plan.USUAL;
    }

    private List<SubjectType> subjects() {
        if (subjectNames.isEmpty()) {
            return isQuick ? SubjectType.FEW : SubjectType.USUAL;
        }
        return orWrong(() -> SubjectType.parse(subjectNames));
    }

    private List<String> workloads() {
        if (workloadNames.isEmpty()) {
            return isQuick
                    ? Stream.concat(Workload.PAIRS.stream(), Trace.bundledNames().stream())
                            .toList()
                    : Workload.names();
        }
        return orWrong(() -> {
            workloadNames.forEach(Workload::requireKnown);
            return workloadNames.stream().distinct().toList();
        });
    }

    private <T> T orWrong(Supplier<T> parser) {
        try {
            return parser.get();
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
    }

    /** Those that can be opened here; of the others it is noted why not. */
    private List<SubjectType> usable(List<SubjectType> wanted) {
        for (final String text : libraries.keySet()) {
            final SubjectType type = orWrong(() -> SubjectType.of(text));
            if (!type.needsLibrary()) {
                throw wrong(type + " takes no library");
            }
            if (!Files.isReadable(libraries.get(text))) {
                throw wrong("no library to read: " + libraries.get(text));
            }
            found.put(type, libraries.get(text).toAbsolutePath());
        }
        final List<SubjectType> usable = new ArrayList<>();
        for (final SubjectType type : wanted) {
            if (type.needsLibrary() && !found.containsKey(type)) {
                type.findLibrary().ifPresent(file -> found.put(type, file));
            }
            if (type.needsLibrary() && !found.containsKey(type)) {
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
        return usable;
    }

    private void measure(int round, int count, List<SubjectType> subjects, List<String> workloads)
            throws IOException, InterruptedException {
        overheads(round);
        final List<SubjectType> order = new ArrayList<>(subjects);
        Collections.rotate(order, 1 - round);
        for (final List<String> group : groups(workloads)) {
            for (final SubjectType type : order) {
                if (isWorthwhile(type, group.getFirst())) {
                    final String what = String.format(
                            Locale.ROOT, "round %d of %d, %s: %s", round, count, String.join(" ", group), type);
                    progress.println(what);
                    measure(round, type, group);
                }
            }
        }
    }

    /** Workloads that one JVM plays: each of the pairs alone, all traces, all scales. */
    private static List<List<String>> groups(List<String> workloads) {
        final List<List<String>> groups = new ArrayList<>();
        for (final String workload : Workload.PAIRS) {
            groups.add(workloads.stream().filter(workload::equals).toList());
        }
        groups.add(workloads.stream().filter(Trace.bundledNames()::contains).toList());
        groups.add(workloads.stream().filter(Workload.SCALES::contains).toList());
        groups.removeIf(List::isEmpty);
        return groups;
    }

    /** Whether something is measured that was not asked for by name. */
    private boolean isWorthwhile(SubjectType type, String workload) {
        if (!subjectNames.isEmpty() || Workload.PAIRS.contains(workload)) {
            return true;
        }
        return Workload.SCALES.contains(workload) ? SubjectType.SCALED.contains(type) : !type.zeroes();
    }

    private void measure(int round, SubjectType type, List<String> group) throws IOException, InterruptedException {
        final boolean isShared = !workloadNames.isEmpty() || Workload.PAIRS.contains(group.getFirst());
        final List<String> arguments = new ArrayList<>();
        arguments.add(type.toString());
        arguments.add(String.join(",", group));
        arguments.add(
                isShared
                        ? String.join(",", threads.stream().map(String::valueOf).toList())
                        : "1");
        arguments.addAll(plan().toArguments());
        run(round, Measurement.class, type, group, arguments);
    }

    private void measureMemory(List<SubjectType> subjects, List<String> workloads)
            throws IOException, InterruptedException {
        for (final String workload : workloads) {
            if (Workload.PAIRS.contains(workload)) {
                for (final SubjectType type : subjects) {
                    progress.println("memory, " + workload + ": " + type);
                    run(1, Footprint.class, type, List.of(workload), List.of(type.toString(), workload));
                }
            }
        }
    }

    private void overheads(int round) throws IOException, InterruptedException {
        try {
            results.add(round, Overheads.NAME, launcher.run(Overheads.class, null, null, output, List.of()));
        } catch (Launcher.FailedException e) {
            leftOut.add("the clock (" + e.getMessage() + ")");
        }
    }

    private void run(int round, Class<?> main, SubjectType type, List<String> group, List<String> arguments)
            throws IOException, InterruptedException {
        try {
            results.add(round, type.toString(), launcher.run(main, type, found.get(type), output, arguments));
        } catch (Launcher.FailedException e) {
            final String note = type + " under " + String.join(" ", group) + " failed (" + e.getMessage() + ")";
            progress.println(note);
            leftOut.add(note);
        }
    }

    private void report(List<String> facts) throws IOException {
        final String table = new Report(results, facts).toString();
        out.println(table);
        if (name != null) {
            Files.createDirectories(folder);
            Files.writeString(folder.resolve(name + ".md"), table);
            Files.writeString(folder.resolve(name + ".csv"), results.toCsv());
            progress.println(folder.resolve(name) + ".md, .csv" + (draw(results, name) ? ", .svg" : ""));
        }
    }

    /** Draws the results; a Java runtime need not be able to. */
    private boolean draw(Results drawn, String fileName) throws IOException {
        if (ModuleLayer.boot().findModule("java.desktop").isEmpty()) {
            progress.println("no picture: this Java runtime cannot draw; --draw makes it elsewhere from the CSV");
            return false;
        }
        System.setProperty("java.awt.headless", "true");
        return new Plot(drawn).write(folder.resolve(fileName + ".svg"));
    }

    private int drawOnly(String fileName) throws IOException {
        final Path csv = folder.resolve(fileName + ".csv");
        try {
            if (!draw(Results.parse(Files.readAllLines(csv)), fileName)) {
                throw wrong("nothing to draw in " + csv);
            }
        } catch (NoSuchFileException e) {
            throw wrong("no such file: " + csv);
        } catch (IllegalArgumentException e) {
            throw wrong(csv + " is not what --keep writes: " + e.getMessage());
        }
        return 0;
    }

    private static void delete(Path file) {
        try {
            Files.delete(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
