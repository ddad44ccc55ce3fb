package allocator.bench.pairs;

import allocator.bench.subject.SubjectType;
import allocator.trace.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of a command that measures in rounds: what is measured, how often, and where it is kept. */
final class Selection {
    @Spec(Spec.Target.MIXEE)
    private @Nullable CommandSpec spec;

    @Option(names = "--quick", description = "One short round of fewer subjects: a first look, not a result.")
    private boolean isQuick;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "How often everything is measured (default: 3, beside JMH 8; with --quick 1).")
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

    @Option(
            names = "--keep",
            paramLabel = "NAME",
            description = "Write bench/results/NAME.md, .csv, and .svg if there is a picture.")
    private @Nullable String name;

    @Option(names = "--results", hidden = true, description = "The folder for --keep.")
    private Path folder = Path.of("bench/results");

    @Option(names = "--commit", hidden = true, description = "What is measured.")
    private String commit = "unknown";

    private final Map<SubjectType, Path> found = new EnumMap<>(SubjectType.class);
    private final List<String> leftOut = new ArrayList<>();

    /** @throws ParameterException if an option has a value that it does not take */
    void check() {
        requireFileName("--keep", name);
        if (rounds < 0 || threads.stream().anyMatch(count -> count < 1)) {
            throw wrong("--rounds and --threads take numbers from 1");
        }
    }

    /** @throws ParameterException if there is a file name, and it has anything that may be a folder */
    void requireFileName(String option, @Nullable String fileName) {
        if (fileName != null && !fileName.matches("[A-Za-z0-9][A-Za-z0-9._-]*")) {
            throw wrong(option + " takes letters, digits, '.', '_' and '-': " + fileName);
        }
    }

    /** A wrong option, for the console. */
    ParameterException wrong(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }

    /** Whether a first look is wanted. */
    boolean isQuick() {
        return isQuick;
    }

    /**
     * How often everything is measured.
     *
     * @param usual how often if the options do not say it and a first look is not wanted
     */
    int rounds(int usual) {
        return rounds > 0 ? rounds : isQuick ? 1 : usual;
    }

    /** How long a cell of the harness is measured. */
    Plan plan() {
        return isQuick ? Plan.QUICK : Plan.USUAL;
    }

    /** What is measured, as the head of the table states it. */
    String commit() {
        return commit;
    }

    /** The folder of kept results. */
    Path folder() {
        return folder;
    }

    /**
     * Writes a table and its figures if they are to be kept.
     *
     * @return the name of the files without an ending; empty if nothing is kept
     */
    Optional<String> keep(String table, Results results) throws IOException {
        if (name != null) {
            Files.createDirectories(folder);
            Files.writeString(folder.resolve(name + ".md"), table);
            Files.writeString(folder.resolve(name + ".csv"), results.toCsv());
        }
        return Optional.ofNullable(name);
    }

    /**
     * The subjects that can be opened here, in the order in which they were named.
     *
     * @throws ParameterException if a name or a library is wrong, or no subject is left
     */
    List<SubjectType> subjects() {
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
        for (final SubjectType type : wanted()) {
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
        if (usable.isEmpty()) {
            throw wrong("nothing is left to measure: " + String.join("; ", leftOut));
        }
        return usable;
    }

    private List<SubjectType> wanted() {
        if (subjectNames.isEmpty()) {
            return isQuick ? SubjectType.FEW : SubjectType.USUAL;
        }
        return orWrong(() -> SubjectType.parse(subjectNames));
    }

    /** The subjects that {@link #subjects} left out, each with the reason. */
    List<String> leftOut() {
        return List.copyOf(leftOut);
    }

    /** The library of a subject that {@link #subjects} returned. */
    Optional<Path> library(SubjectType type) {
        return Optional.ofNullable(found.get(type));
    }

    /**
     * The workloads that are named, or else the usual ones, as groups that one JVM plays: each of the pairs alone, all
     * traces, all scales.
     *
     * @throws ParameterException if there is none of a name
     */
    List<List<String>> groups(List<String> usual) {
        final List<String> workloads = workloadNames.isEmpty()
                ? usual
                : orWrong(() -> {
                    workloadNames.forEach(Workload::requireKnown);
                    return workloadNames.stream().distinct().toList();
                });
        return Stream.concat(Workload.PAIRS.stream().map(List::of), Stream.of(Trace.bundledNames(), Workload.SCALES))
                .map(group -> workloads.stream().filter(group::contains).toList())
                .filter(group -> !group.isEmpty())
                .toList();
    }

    /** The numbers of threads that a group of workloads is measured with. */
    List<Integer> threads(List<String> group) {
        return !workloadNames.isEmpty() || Workload.PAIRS.contains(group.getFirst()) ? threads : List.of(1);
    }

    /** Whether a subject is measured under a workload: not everything is that was not asked for by name. */
    boolean includes(SubjectType type, String workload) {
        if (!subjectNames.isEmpty() || Workload.PAIRS.contains(workload)) {
            return true;
        }
        return Workload.SCALES.contains(workload) ? SubjectType.SCALED.contains(type) : !type.zeroes();
    }

    private <T> T orWrong(Supplier<T> parser) {
        try {
            return parser.get();
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
    }
}
