package allocator.bench.pairs;

import allocator.bench.CpuTimeProfiler;
import allocator.bench.subject.NettyThreads;
import allocator.bench.subject.SubjectType;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * What {@link Measurement} measures, measured by it and by JMH, in this JVM and in turn: {@link AllocFreePair} with one
 * subject, without forks.
 *
 * <p>Arguments: file for the results, subject, workloads and numbers of threads (lists with commas), the turns.
 */
public final class JmhMeasurement {
    private final SubjectType type;
    private final Turns turns;

    /**
     * What is done in a JVM.
     *
     * @param count how many turns of either count, after one that does not
     * @param harness a turn of the harness
     * @param warmUps how many iterations of JMH's turn do not count
     * @param iterations how many count after them, each of which is a sample
     * @param millis how long an iteration is
     */
    record Turns(int count, Plan harness, int warmUps, int iterations, int millis) {
        /** Of a run that is to be believed. */
        static final Turns USUAL = new Turns(3, Plan.BESIDE_JMH, 5, 3, 300);

        /** Of a first look. */
        static final Turns QUICK = new Turns(1, Plan.QUICK, 3, 3, 200);

        List<String> toArguments() {
            return Stream.concat(
                            Stream.of(count, warmUps, iterations, millis).map(String::valueOf),
                            harness.toArguments().stream())
                    .toList();
        }

        static Turns parse(List<String> arguments) {
            final int[] values =
                    arguments.subList(0, 4).stream().mapToInt(Integer::parseInt).toArray();
            return new Turns(
                    values[0], Plan.parse(arguments.subList(4, arguments.size())), values[1], values[2], values[3]);
        }

        /** The plan in words. */
        String describe() {
            return "each cell in a JVM in which the harness and JMH have " + count + " turns each, after one that does"
                    + " not count; the harness " + harness.windows() + " samples of " + harness.windowMillis()
                    + " ms after " + harness.warmUpMillis() + " ms; JMH " + iterations + " iterations of " + millis
                    + " ms after " + warmUps;
        }
    }

    private JmhMeasurement(SubjectType type, Turns turns) {
        this.type = type;
        this.turns = turns;
    }

    /**
     * Measures.
     *
     * @param args as above
     * @throws Exception if the subject fails
     */
    public static void main(String[] args) throws Exception {
        // The launcher lets glibc keep more thread-local memory, and glibc takes it from each thread's stack. Too
        // little would be left of the small stack of the thread that waits for the processes that JMH starts.
        System.setProperty("jdk.lang.processReaperUseDefaultStackSize", "true");
        // Runs may be side by side, each on processors of its own.
        System.setProperty("jmh.ignoreLock", "true");
        final List<String> arguments = Arrays.asList(args);
        final Output output = Output.to(Path.of(args[0]));
        final SubjectType type = SubjectType.of(args[1]);
        if (type.usesNettyThreads()) {
            NettyThreads.JMH_PROPERTIES.forEach(System::setProperty);
        }
        final JmhMeasurement measurement =
                new JmhMeasurement(type, Turns.parse(arguments.subList(4, arguments.size())));
        for (final String workload : args[2].split(",", -1)) {
            for (final String threads : args[3].split(",", -1)) {
                measurement.measure(output, workload, Integer.parseInt(threads));
            }
        }
        System.exit(0); // Some subjects leave threads behind.
    }

    private void measure(Output output, String workload, int threads) throws Exception {
        final Output none = (_, _, _, _) -> {};
        for (int turn = 0; turn <= turns.count; turn++) {
            final Output place = turn == 0 ? none : output;
            Measurement.measure(place, type, workload, threads, turns.harness);
            byJmh(place, workload, threads);
        }
    }

    private void byJmh(Output output, String workload, int threads) {
        final ChainedOptionsBuilder options = new OptionsBuilder()
                .include("^" + Pattern.quote(AllocFreePair.class.getName() + "."))
                .param("subject", type.toString())
                .param("workload", workload)
                .threads(threads)
                .forks(0)
                .warmupIterations(turns.warmUps)
                .warmupTime(TimeValue.milliseconds(turns.millis))
                .measurementIterations(turns.iterations)
                .measurementTime(TimeValue.milliseconds(turns.millis))
                .addProfiler(CpuTimeProfiler.class)
                .shouldFailOnError(true);
        for (final RunResult run : run(options)) {
            for (final BenchmarkResult fork : run.getBenchmarkResults()) {
                for (final IterationResult iteration : fork.getIterationResults()) {
                    final double wall = iteration.getPrimaryResult().getScore();
                    final double cpu = Objects.requireNonNull(
                                    iteration.getSecondaryResults().get(CpuTimeProfiler.THREADS_RESULT))
                            .getScore();
                    output.add(workload, threads, Metric.JMH_WALL_NS, wall);
                    output.add(workload, threads, Metric.JMH_CPU_NS, cpu);
                }
            }
        }
    }

    private static Iterable<RunResult> run(ChainedOptionsBuilder options) {
        try {
            return new Runner(options.build()).run();
        } catch (RunnerException e) {
            throw new IllegalStateException(innermost(e));
        }
    }

    /** What failed, which JMH puts below exceptions of its own. */
    private static Throwable innermost(Throwable failure) {
        Throwable innermost = failure;
        while (innermost.getCause() != null || innermost.getSuppressed().length > 0) {
            innermost = innermost.getCause() != null
                    ? innermost.getCause()
                    : innermost.getSuppressed()[0];
        }
        return innermost;
    }
}
