package allocator.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Benchmarks as JMH runs them, here in this JVM and as short as can be: each has a time above zero. */
class BenchmarksTest {
    private static Collection<RunResult> run(String pattern, String... parameters) throws RunnerException {
        final ChainedOptionsBuilder options = new OptionsBuilder()
                .include(pattern)
                .forks(0)
                .warmupIterations(0)
                .measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(5))
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true);
        for (final String parameter : parameters) {
            final int equals = parameter.indexOf('=');
            options.param(parameter.substring(0, equals), parameter.substring(equals + 1));
        }
        final Collection<RunResult> results = new Runner(options.build()).run();
        assertThat(results)
                .isNotEmpty()
                .allSatisfy(result ->
                        assertThat(result.getPrimaryResult().getScore()).isPositive());
        return results;
    }

    private static double counter(Collection<RunResult> results, String name) {
        return results.iterator().next().getSecondaryResults().get(name).getScore();
    }

    @Test
    void pairsOfTheArenaAreMeasured() throws RunnerException {
        assertThat(run("AllocFreePair", "subject=arena", "workload=replay")).hasSize(2);
    }

    @Test
    void theFootprintOfTheArenaIsMeasured() throws RunnerException {
        final Collection<RunResult> results = run("Footprint", "subject=arena", "workload=small");
        assertThat(counter(results, "heldOverLive")).isBetween(1.0, 5.0);
    }

    @Test
    void aPlannedTraceHoldsItsPeakAndCallsNoDevice() throws RunnerException {
        final Collection<RunResult> results = run("PlannedReplay.memory", "trace=resnet", "isPlanned=true");
        assertThat(counter(results, "heldBytes")).isEqualTo(counter(results, "peakBytes"));
        assertThat(counter(results, "deviceCalls")).isZero();
        assertThat(counter(results, "unplannedAllocations")).isZero();
    }

    @Test
    void anInputIsPlannedUnlessItDoesNotFit(@TempDir Path folder) throws Exception {
        final String blocks = "id,lower,upper,size\n0,0,2,4\n1,1,3,6\n";
        final Path fits = Files.writeString(folder.resolve("X.10.csv"), blocks);
        final Path doesNot = Files.writeString(folder.resolve("Y.9.csv"), blocks);
        run("PlannerBenchmark.ours", "input=" + fits);
        assertThatThrownBy(() -> run("PlannerBenchmark.ours", "input=" + doesNot))
                .isInstanceOf(RunnerException.class);
    }

    @ParameterizedTest
    @Tag("thorough")
    @CsvSource({"PlannedReplay.event, trace=resnet, isPlanned=true", "ArrowBuffers, manager=ours, size=4096"})
    void everyOtherBenchmarkRuns(String pattern, String first, String second) throws RunnerException {
        run(pattern, first, second);
    }
}
