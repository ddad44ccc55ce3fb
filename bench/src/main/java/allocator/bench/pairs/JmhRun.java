package allocator.bench.pairs;

import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/**
 * Compares the figures of {@link Run} with JMH's. In each {@linkplain Rounds round} the JVM of a subject is followed by
 * JMH forks of the same subject and workloads; the table has the ratios that each finds, and whether they agree.
 */
@Command(
        name = "bench/run jmh",
        sortOptions = false,
        usageHelpAutoWidth = true,
        mixinStandardHelpOptions = true,
        description = {
            "Measures subjects by bench/run's own harness and by JMH, in one run, and compares the ratios.",
            "Without --workloads: large, replay and small, in about three quarters of an hour."
        })
public final class JmhRun implements Callable<Integer> {
    @Mixin
    private final Selection selection = new Selection();

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
        try (Rounds rounds = new Rounds(selection, Workload.PAIRS, progress)) {
            final Plan plan = selection.plan();
            final JmhMeasurement.Iterations iterations =
                    selection.isQuick() ? JmhMeasurement.Iterations.QUICK : JmhMeasurement.Iterations.USUAL;
            for (int i = 1; i <= selection.rounds(); i++) {
                final int round = i;
                rounds.round(round, (type, group) -> {
                    rounds.measure(round, Measurement.class, type, group, plan.toArguments());
                    rounds.measure(round, JmhMeasurement.class, type, group, iterations.toArguments());
                });
            }
            final String table = new JmhReport(
                            rounds.results(),
                            rounds.subjects(),
                            rounds.facts(plan.describe() + "; " + iterations.describe()))
                    .toString();
            out.println(table);
            selection
                    .keep(table, rounds.results())
                    .ifPresent(name -> progress.println(selection.folder().resolve(name) + ".md, .csv"));
        }
        return 0;
    }
}
