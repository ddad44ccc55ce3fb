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
 * What {@link Measurement} measures, measured by JMH: {@link AllocFreePair} with one subject, in a fork for each
 * workload and number of threads. JMH gives the forks the options of this JVM.
 *
 * <p>Arguments: file for the results, subject, workloads and numbers of threads (lists with commas), the plan.
 */
public final class JmhMeasurement {
    private JmhMeasurement() {}

    /**
     * How long a fork measures.
     *
     * @param warmUps how many iterations do not count
     * @param iterations how many iterations count after them, each of which is a sample
     * @param millis how long an iteration is
     */
    record Iterations(int warmUps, int iterations, int millis) {
        /** Of a run that is to be believed. */
        static final Iterations USUAL = new Iterations(12, 5, 300);

        /** Of a first look. */
        static final Iterations QUICK = new Iterations(5, 3, 200);

        List<String> toArguments() {
            return Stream.of(warmUps, iterations, millis).map(String::valueOf).toList();
        }

        static Iterations parse(List<String> arguments) {
            final int[] values = arguments.stream().mapToInt(Integer::parseInt).toArray();
            return new Iterations(values[0], values[1], values[2]);
        }

        /** The plan in words. */
        String describe() {
            return "a JMH fork for each cell: warm-up of " + warmUps + " iterations, then " + iterations + ", of "
                    + millis + " ms each";
        }
    }

    /**
     * Measures.
     *
     * @param args as above
     */
    public static void main(String[] args) {
        // The launcher lets glibc keep more thread-local memory, and glibc takes it from each thread's stack. Too
        // little would be left of the small stack of the thread that waits for the end of a fork.
        System.setProperty("jdk.lang.processReaperUseDefaultStackSize", "true");
        // Runs may be side by side, each on processors of its own.
        System.setProperty("jmh.ignoreLock", "true");
        final List<String> arguments = Arrays.asList(args);
        final Output output = Output.to(Path.of(args[0]));
        final SubjectType type = SubjectType.of(args[1]);
        final Iterations plan = Iterations.parse(arguments.subList(4, arguments.size()));
        for (final String workload : args[2].split(",", -1)) {
            for (final String threads : args[3].split(",", -1)) {
                measure(output, type, workload, Integer.parseInt(threads), plan);
            }
        }
    }

    private static void measure(Output output, SubjectType type, String workload, int threads, Iterations plan) {
        final ChainedOptionsBuilder options = new OptionsBuilder()
                .include("^" + Pattern.quote(AllocFreePair.class.getName() + "."))
                .param("subject", type.toString())
                .param("workload", workload)
                .threads(threads)
                .forks(1)
                .warmupIterations(plan.warmUps)
                .warmupTime(TimeValue.milliseconds(plan.millis))
                .measurementIterations(plan.iterations)
                .measurementTime(TimeValue.milliseconds(plan.millis))
                .addProfiler(CpuTimeProfiler.class)
                .shouldFailOnError(true);
        if (type.usesNettyThreads()) {
            options.jvmArgsAppend(NettyThreads.JMH_OPTIONS.toArray(String[]::new));
        }
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

    /** What failed in the fork, which JMH puts below exceptions of its own. */
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
