package allocator.bench.pairs;

import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures two versions of the arena in turn, in pairs of JVMs that follow each other, and says how the second compares:
 * the median of the ratios of the pairs, and the interval that holds it with a probability of 95 %.
 *
 * <p>Ends with 1 if an interval lies above the threshold as a whole, and with 2 if something cannot be measured.
 */
@Command(
        name = "bench/compare",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        customSynopsis = "bench/compare A [B] [OPTION ...]",
        description = {
            "Measures the arena of two commits in turn and prints how long B takes over A.",
            "Without B it is the working tree with its uncommitted changes.",
            "Ends with 1 if B is slower by more than the threshold, noise considered."
        })
public final class Compare implements Callable<Integer> {
    private static final int SLOWER = 1;
    private static final int FEWEST_ROUNDS = 5;

    @Spec
    private @Nullable CommandSpec spec;

    @Option(names = "--rounds", paramLabel = "N", description = "Pairs of JVMs per workload, at least 5 (default: 10).")
    private int rounds = 10;

    @Option(
            names = "--workloads",
            split = ",",
            paramLabel = "NAME",
            description = "Under what, with commas (default: large,replay,small,bert).")
    private List<String> workloads = List.of(Workload.LARGE, Workload.REPLAY, Workload.SMALL, "bert");

    @Option(names = "--threads", paramLabel = "N", description = "How many share the arena (default: 1).")
    private int threads = 1;

    @Option(
            names = "--threshold",
            paramLabel = "RATIO",
            description = "The ratio that is still accepted (default: 1.05).")
    private double threshold = 1.05;

    @Option(names = "--subject", paramLabel = "NAME", description = "arena (the default), arena-quick, arena-streams.")
    private String subject = SubjectType.ARENA.toString();

    @Option(names = "--a", hidden = true, required = true)
    private Path modulesOfA = Path.of("");

    @Option(names = "--b", hidden = true, required = true)
    private Path modulesOfB = Path.of("");

    @Option(names = "--names", hidden = true, split = ",")
    private List<String> names = List.of("A", "B");

    private final PrintStream out;
    private final PrintStream progress;

    private Compare(PrintStream out, PrintStream progress) {
        this.out = out;
        this.progress = progress;
    }

    /**
     * Compares and ends the JVM.
     *
     * @param args the options
     */
    public static void main(String[] args) {
        System.exit(execute(System.out, System.err, args));
    }

    /** Compares and returns the exit status. */
    static int execute(PrintStream out, PrintStream err, String... args) {
        return new CommandLine(new Compare(out, err))
                .setErr(new PrintWriter(err, true, err.charset()))
                .execute(args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        final SubjectType type = type();
        if (rounds < FEWEST_ROUNDS || threads < 1 || !(threshold > 0)) {
            throw wrong("--rounds takes numbers from " + FEWEST_ROUNDS + ", --threads from 1, --threshold above 0");
        }
        for (final String workload : workloads) {
            try {
                Workload.requireKnown(workload);
            } catch (IllegalArgumentException e) {
                throw wrong(String.valueOf(e.getMessage()));
            }
        }
        final Launcher launcher = Launcher.withOwnModules();
        final Launcher a = launcher.withModules(modulesOfA);
        final Launcher b = launcher.withModules(modulesOfB);
        final Map<String, Samples> samples = new LinkedHashMap<>();
        final Path output = Files.createTempFile("compare", "");
        try {
            for (int round = 0; round < rounds; round++) {
                for (final String workload : workloads) {
                    final Samples cell = samples.computeIfAbsent(workload, key -> new Samples());
                    // Who goes first changes, so that a machine that becomes slower does not favour one.
                    if (round % 2 == 0) {
                        cell.a.add(nanos(a, names.getFirst(), type, workload, output));
                        cell.b.add(nanos(b, names.getLast(), type, workload, output));
                    } else {
                        cell.b.add(nanos(b, names.getLast(), type, workload, output));
                        cell.a.add(nanos(a, names.getFirst(), type, workload, output));
                    }
                    progress.printf(
                            Locale.ROOT,
                            "%d of %d, %s: %.1f and %.1f ns%n",
                            round + 1,
                            rounds,
                            workload,
                            cell.a.getLast(),
                            cell.b.getLast());
                }
            }
        } catch (Launcher.FailedException e) {
            throw wrong(String.valueOf(e.getMessage()));
        } finally {
            Files.delete(output);
            Files.deleteIfExists(Launcher.logOf(output));
        }
        out.println("A " + names.getFirst() + ", B " + names.getLast() + ": " + type + ", " + threads
                + (threads == 1 ? " thread, processor time" : " threads, time that passed") + ", " + rounds + " pairs, "
                + Machine.description());
        out.print(table(samples, threshold));
        return isSlower(samples, threshold) ? SLOWER : 0;
    }

    /** What was measured of one workload; the values at one index follow each other. */
    static final class Samples {
        final List<Double> a = new ArrayList<>();
        final List<Double> b = new ArrayList<>();

        Statistics.Estimate ratio() {
            return Statistics.pairedRatio(a, b);
        }
    }

    /** The result as text. */
    static String table(Map<String, Samples> samples, double threshold) {
        final StringBuilder text = new StringBuilder(String.format(
                Locale.ROOT, "%-14s %9s %9s %7s %17s%n", "workload", "A ns", "B ns", "B / A", "95 % interval"));
        samples.forEach((workload, cell) -> {
            final Statistics.Estimate ratio = cell.ratio();
            text.append(String.format(
                    Locale.ROOT,
                    "%-14s %9.1f %9.1f %7.3f %17s  %s%n",
                    workload,
                    Statistics.median(cell.a),
                    Statistics.median(cell.b),
                    ratio.value(),
                    String.format(Locale.ROOT, "%.3f to %.3f", ratio.low(), ratio.high()),
                    verdict(ratio, threshold)));
        });
        return text.toString();
    }

    private static String verdict(Statistics.Estimate ratio, double threshold) {
        if (ratio.low() > threshold) {
            return String.format(Locale.ROOT, "slower than the threshold of %.3f", threshold);
        }
        return ratio.low() > 1 ? "slower" : ratio.high() < 1 ? "faster" : "no difference seen";
    }

    /** Whether a workload is slower beyond doubt. */
    static boolean isSlower(Map<String, Samples> samples, double threshold) {
        return samples.values().stream().anyMatch(cell -> cell.ratio().low() > threshold);
    }

    private SubjectType type() {
        try {
            final SubjectType type = SubjectType.of(subject);
            if (type.isArena()) {
                return type;
            }
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
        throw wrong("--subject takes arena, arena-quick or arena-streams: " + subject);
    }

    private ParameterException wrong(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }

    private double nanos(Launcher launcher, String name, SubjectType type, String workload, Path output)
            throws IOException, InterruptedException, Launcher.FailedException {
        final List<String> arguments = new ArrayList<>(List.of(type.toString(), workload, String.valueOf(threads)));
        arguments.addAll(Plan.PAIRED.toArguments());
        try {
            final Results results = new Results();
            results.add(1, name, launcher.run(Measurement.class, type, null, output, arguments));
            final Results.Cell cell = new Results.Cell(name, workload, threads);
            // What disturbs a thread that is alone only makes it slower; threads that share disturb each other.
            return threads == 1 ? results.low(cell, Report.quoted(1)) : results.median(cell, Report.quoted(threads));
        } catch (Launcher.FailedException e) {
            throw new Launcher.FailedException(name + " under " + workload + ": " + e.getMessage());
        }
    }
}
