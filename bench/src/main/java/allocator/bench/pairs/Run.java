package allocator.bench.pairs;

import allocator.bench.picture.Picture;
import allocator.bench.sampling.Processors;
import allocator.bench.subject.SubjectType;
import allocator.trace.Trace;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Measures pairs of a free and an allocation of several subjects in {@linkplain Rounds rounds}, and writes a table, a
 * CSV and a picture.
 */
@Command(
        name = "bench/run",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        description = {
            "Measures allocation and free of our arena beside its rivals.",
            "bench/run jmh [OPTION ...] compares these figures with JMH's, see bench/run jmh --help;"
                    + " bench/run jmh PATTERN [OPTION ...] runs any JMH benchmarks."
        })
public final class Run implements Callable<Integer> {
    private static final int ROUNDS = 3;

    @Mixin
    private final Selection selection = new Selection();

    @Option(names = "--no-memory", description = "Leave out the runs that touch memory.")
    private boolean leavesOutMemory;

    @Option(names = "--draw", paramLabel = "NAME", description = "Only draw bench/results/NAME.svg from NAME.csv.")
    private @Nullable String drawn;

    private final PrintStream out;
    private final PrintStream progress;

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
        selection.requireFileName("--draw", drawn);
        if (drawn != null) {
            return drawOnly(drawn);
        }
        final List<String> usual = selection.isQuick()
                ? Stream.concat(Workload.PAIRS.stream(), Trace.bundledNames().stream())
                        .toList()
                : Workload.names();
        try (Rounds rounds = new Rounds(selection, usual, Processors.all(), progress)) {
            final Plan plan = selection.plan();
            final int count = selection.rounds(ROUNDS);
            rounds.run(count, round -> {
                round.measureOverheads();
                round.forEach((type, group) ->
                        round.measure(Measurement.class, type, group, selection.threads(group), plan.toArguments()));
            });
            if (!leavesOutMemory && !selection.isQuick()) {
                measureMemory(rounds);
            }
            report(rounds.results(), rounds.facts(count, plan.describe()));
        }
        return 0;
    }

    private static void measureMemory(Rounds rounds) throws IOException, InterruptedException {
        for (final String workload : rounds.workloads()) {
            if (Workload.PAIRS.contains(workload)) {
                for (final SubjectType type : rounds.subjects()) {
                    rounds.measureMemory(type, workload);
                }
            }
        }
    }

    private void report(Results results, List<String> facts) throws IOException {
        final String table = new Report(results, facts).toString();
        out.println(table);
        final Optional<String> kept = selection.keep(table, results);
        if (kept.isPresent()) {
            final boolean hasPicture = draw(results, kept.get());
            progress.println(selection.folder().resolve(kept.get()) + ".md, .csv" + (hasPicture ? ", .svg" : ""));
        }
    }

    /** Draws the results; a Java runtime need not be able to. */
    private boolean draw(Results results, String fileName) throws IOException {
        if (!Picture.isPossible()) {
            progress.println("no picture: this Java runtime cannot draw; --draw makes it elsewhere from the CSV");
            return false;
        }
        System.setProperty("java.awt.headless", "true");
        return new Plot(results).write(selection.folder().resolve(fileName + ".svg"));
    }

    private int drawOnly(String fileName) throws IOException {
        final Path csv = selection.folder().resolve(fileName + ".csv");
        try {
            if (!draw(Results.parse(Files.readAllLines(csv)), fileName)) {
                throw selection.wrong("nothing to draw in " + csv);
            }
        } catch (NoSuchFileException e) {
            throw selection.wrong("no such file: " + csv);
        } catch (IllegalArgumentException e) {
            throw selection.wrong(csv + " is not what --keep writes: " + e.getMessage());
        }
        return 0;
    }
}
