package allocator.conformance.runner;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.DeviceProbe;
import allocator.conformance.contract.RuleFilter;
import allocator.conformance.contract.TestName;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.subject.CleanupFindings;
import allocator.spi.EpFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Runs the suites on a provider in this process, and returns a report. A provider that crashes or ends the process ends
 * the run; {@link ConformanceCommand} gives it a process of its own.
 */
public final class ConformanceRunner {
    private final Supplier<EpFactory> factories;
    private final Function<EpFactory, Optional<DeviceProbe>> probes;
    private final ConformanceSettings settings;
    private final RuleFilter filter;

    /**
     * Creates a runner.
     *
     * @param factories makes a new factory of the provider on each call
     * @param settings the settings of a run
     * @param rules the rules to prove, as patterns such as {@code *} or {@code A-*,T-03}
     * @throws IllegalArgumentException if no rule matches
     */
    public ConformanceRunner(Supplier<EpFactory> factories, ConformanceSettings settings, String rules) {
        this(factories, _ -> Optional.empty(), settings, rules);
    }

    /**
     * Creates a runner that observes the device beneath the provider.
     *
     * @param factories makes a new factory of the provider on each call
     * @param probes returns the probe of the device beneath a factory, if there is one
     * @param settings the settings of a run
     * @param rules the rules to prove, as patterns such as {@code *} or {@code A-*,T-03}
     * @throws IllegalArgumentException if no rule matches
     */
    public ConformanceRunner(
            Supplier<EpFactory> factories,
            Function<EpFactory, Optional<DeviceProbe>> probes,
            ConformanceSettings settings,
            String rules) {
        this.factories = factories;
        this.probes = probes;
        this.settings = settings;
        filter = new RuleFilter(rules);
    }

    /**
     * Runs the suites. Blocks until they are done; tests have time limits, so a hanging provider does not block it
     * forever.
     *
     * @param progress receives each result as soon as it is known
     * @return the report
     */
    public ConformanceReport run(Consumer<TestResult> progress) {
        return run(new ProviderRun.Provider(factories, probes), progress);
    }

    ConformanceReport run(ProviderRun.Provider provider, Consumer<TestResult> progress) {
        final Instant started = Instant.now();
        final long start = System.nanoTime();
        final List<TestResult> tests = new ArrayList<>();
        new Suites(provider, settings, new CleanupFindings(List.of(), 0, true), ProcessState.now())
                .run(
                        source -> filter.accepts(TestName.of(source.getMethodName())
                                .orElseThrow()
                                .rule()),
                        new Suites.Listener() {
                            @Override
                            public void started(String test, String chapter, String memory) {}

                            @Override
                            public void finished(TestResult result, boolean isHang) {
                                tests.add(result);
                                progress.accept(result);
                            }
                        });
        return new ConformanceReport(
                Suites.describe(provider, settings),
                settings,
                filter.toString(),
                started,
                Duration.ofNanos(System.nanoTime() - start),
                true,
                ConformanceReport.byRule(tests, filter, "it was not selected"));
    }
}
