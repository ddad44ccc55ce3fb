package allocator.bench.pairs;

import allocator.bench.sampling.Processors;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Compares the figures of {@link Run} with JMH's. In each {@linkplain Rounds round} one JVM measures a cell by the
 * harness and by JMH in turn; the table says how far the ratios of subjects are apart.
 */
@Command(
        name = "bench/run jmh",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        description = {
            "Measures subjects by bench/run's own harness and by JMH, in the same JVMs, and compares the ratios.",
            "Without --workloads and --threads: large, replay and small with one and two threads, in eight rounds of"
                    + " fifteen minutes each, which --lanes runs side by side."
        })
public final class JmhRun implements Callable<Integer> {
    private static final int ROUNDS = 8;

    @Mixin
    private final Selection selection = new Selection();

    @Option(
            names = "--lanes",
            paramLabel = "N",
            description =
                    "Rounds that run side by side, each bound to its share of the processors, of which two are enough"
                            + " for one thread (default: ${DEFAULT-VALUE}, not bound).",
            defaultValue = "1")
    private int lanes;

    private final PrintStream out;
    private final PrintStream progress;

    private JmhRun(PrintStream out, PrintStream progress) {
        this.out = out;
        this.progress = progress;
    }

    /** Runs the comparison and returns the exit status. */
    static int execute(PrintStream out, PrintStream err, String... args) {
        return new CommandLine(new JmhRun(out, err))
                .setErr(new PrintWriter(err, true, err.charset()))
                .execute(args);
    }

    /**
     * Runs the comparison and ends the JVM.
     *
     * @param args the options
     */
    public static void main(String[] args) {
        System.exit(execute(System.out, System.err, args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        final JmhMeasurement.Turns turns =
                selection.isQuick() ? JmhMeasurement.Turns.QUICK : JmhMeasurement.Turns.USUAL;
        final int count = selection.rounds(ROUNDS);
        try (Rounds rounds = new Rounds(selection, Workload.PAIRS, processors(), progress)) {
            rounds.run(
                    count,
                    round -> round.forEach((type, group) -> {
                        for (final String workload : group) {
                            for (final int threads : selection.threads(group)) {
                                round.measure(
                                        JmhMeasurement.class,
                                        type,
                                        List.of(workload),
                                        List.of(threads),
                                        turns.toArguments());
                            }
                        }
                    }));
            final String table = new JmhReport(
                            rounds.results(), rounds.subjects(), rounds.facts(count, turns.describe()))
                    .toString();
            out.println(table);
            selection
                    .keep(table, rounds.results())
                    .ifPresent(name -> progress.println(selection.folder().resolve(name) + ".md, .csv"));
        }
        return 0;
    }

    private Processors processors() {
        try {
            return new Processors(Runtime.getRuntime().availableProcessors(), lanes);
        } catch (IllegalArgumentException e) {
            throw selection.wrong(String.valueOf(e.getMessage()));
        }
    }
}
