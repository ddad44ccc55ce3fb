package allocator.bench.compare;

import allocator.bench.report.Machine;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures two built trees in turn and judges how long the second takes over the first.
 *
 * <p>The exit status is 0 if every row passes, 1 if a row is slower, 3 if none is slower but some are undecided, and 2
 * if an option is wrong or something cannot be measured. Without trees it only checks the options.
 */
@Command(
        name = "bench/compare",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        customSynopsis = "bench/compare A [B] [OPTION ...]",
        description = {
            "Builds two commits, measures them in turn, and prints how long B takes over A.",
            "Without B it is the working tree, uncommitted and untracked files included.",
            "A row passes if the upper end of its interval is at most the threshold. Exit status: 0 if all pass,"
                    + " 1 if one is slower, 3 if some are undecided when the time is up, 2 if anything fails."
        })
public final class Compare implements Callable<Integer> {
    @Spec
    private @Nullable CommandSpec spec;

    @Option(
            names = "--subjects",
            split = ",",
            paramLabel = "NAME[:THREADS]",
            description = "What is measured, with commas (default: ${DEFAULT-VALUE}).",
            defaultValue =
                    "arena,arena:2,arena-slabs,arena-streams:2,session,session:2,session-streams,bridge,bridge:2")
    private List<String> subjects = List.of();

    @Option(
            names = "--workloads",
            split = ",",
            paramLabel = "NAME",
            description = "Under what, with commas (default: ${DEFAULT-VALUE}).",
            defaultValue = "large,replay,small,bert")
    private List<String> workloads = List.of();

    @Option(
            names = "--threshold",
            paramLabel = "RATIO",
            description = "The ratio that is accepted (default: ${DEFAULT-VALUE}).",
            defaultValue = "1.03")
    private double threshold;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "Pairs of each row before it is decided, at least 8 (default: ${DEFAULT-VALUE}).",
            defaultValue = "8")
    private int rounds;

    @Option(
            names = "--minutes",
            paramLabel = "N",
            description = "When to stop measuring, decided or not; builds not counted (default: ${DEFAULT-VALUE}).",
            defaultValue = "30")
    private int minutes;

    @Option(
            names = "--lanes",
            paramLabel = "N",
            description =
                    "Pairs that are measured side by side, each bound to its share of the processors, of which two"
                            + " are enough for one thread (default: ${DEFAULT-VALUE}, not bound).",
            defaultValue = "1")
    private int lanes;

    @Option(names = "--a", hidden = true)
    private @Nullable Path treeOfA;

    @Option(names = "--b", hidden = true)
    private @Nullable Path treeOfB;

    @Option(names = "--name-a", hidden = true)
    private String nameOfA = "A";

    @Option(names = "--name-b", hidden = true)
    private String nameOfB = "B";

    private final PrintStream out;
    private final PrintStream progress;

    private Compare(PrintStream out, PrintStream progress) {
        this.out = out;
        this.progress = progress;
    }

    public static void main(String[] args) {
        System.exit(execute(System.out, System.err, args));
    }

    /** Compares and returns the exit status. */
    static int execute(PrintStream out, PrintStream err, String... args) {
        return new CommandLine(new Compare(out, err))
                .setErr(new PrintWriter(err, true, err.charset()))
                .setExecutionExceptionHandler((e, command, _) -> {
                    command.getErr()
                            .println("bench/compare: " + (e instanceof SideFailedException ? e.getMessage() : e));
                    return CommandLine.ExitCode.USAGE;
                })
                .execute(args);
    }

    @Override
    public Integer call() throws SideFailedException, IOException, InterruptedException {
        final List<Cell> cells = cells();
        if (rounds < Ratio.FEWEST_PAIRS || minutes < 1 || !(threshold > 0)) {
            throw wrong(
                    "--rounds takes numbers from " + Ratio.FEWEST_PAIRS + ", --minutes from 1, --threshold above 0");
        }
        final Processors processors = processors();
        if (treeOfA == null || treeOfB == null) {
            return 0;
        }
        final SideClient a = new SideClient(nameOfA, treeOfA, processors);
        final SideClient b = new SideClient(nameOfB, treeOfB, processors);
        a.requireKnown(cells);
        b.requireKnown(cells);

        final long begin = System.nanoTime();
        final long limit = TimeUnit.MINUTES.toNanos(minutes);
        final Map<Cell, Pairs> measured = new PairedRuns(
                        a, b, threshold, rounds, () -> System.nanoTime() - begin >= limit, progress)
                .measure(cells, lanes);
        out.printf(
                Locale.ROOT,
                "A %s, B %s: ns for a free and an allocation, threshold %.3f, %d s, load %s, %s%n",
                a.name(),
                b.name(),
                threshold,
                TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin),
                Machine.load(),
                Machine.description());
        out.print(Table.of(measured, threshold));
        return Verdict.exitStatus(measured.values().stream()
                .map(pairs -> pairs.verdict(threshold))
                .toList());
    }

    private List<Cell> cells() {
        try {
            return Cell.of(subjects, workloads);
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
    }

    private Processors processors() {
        try {
            return new Processors(Runtime.getRuntime().availableProcessors(), lanes);
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }
}
