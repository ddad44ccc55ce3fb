package allocator.conformance.runner;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.contract.TestName;
import allocator.conformance.program.ProgramFailure;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Watchdog;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.opentest4j.TestAbortedException;

/** Runs the suites on a provider and returns a report. */
public final class ConformanceRunner {
    private final Supplier<EpFactory> factories;
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
        this.factories = factories;
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
        return run(new ProviderRun.Provider(factories, _ -> Optional.empty()), progress);
    }

    ConformanceReport run(ProviderRun.Provider provider, Consumer<TestResult> progress) {
        final Instant started = Instant.now();
        final long start = System.nanoTime();
        final Results results = new Results(progress);
        ScopedValue.where(ProviderRun.PROVIDER, provider)
                .run(() -> LauncherFactory.create(LauncherConfig.builder()
                                .enableTestExecutionListenerAutoRegistration(false)
                                .enableLauncherDiscoveryListenerAutoRegistration(false)
                                .enableLauncherSessionListenerAutoRegistration(false)
                                .enablePostDiscoveryFilterAutoRegistration(false)
                                .build())
                        .execute(request(), results));
        return new ConformanceReport(
                describe(provider),
                settings,
                filter.toString(),
                started,
                Duration.ofNanos(System.nanoTime() - start),
                ConformanceReport.byRule(results.tests, filter));
    }

    private LauncherDiscoveryRequest request() {
        return LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClass(ProviderRun.class))
                .filters(EngineFilter.includeEngines("junit-jupiter"), (PostDiscoveryFilter) this::isSelected)
                .configurationParameters(settings.parameters())
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "false")
                .build();
    }

    private FilterResult isSelected(TestDescriptor descriptor) {
        return FilterResult.includedIf(descriptor
                .getSource()
                .filter(MethodSource.class::isInstance)
                .map(MethodSource.class::cast)
                .flatMap(source -> TestName.of(source.getMethodName()))
                .map(test -> filter.accepts(test.rule()))
                .orElse(true));
    }

    private ConformanceReport.Subject describe(ProviderRun.Provider provider) {
        final String jdk = System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version");
        final String system = System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                + System.getProperty("os.arch");
        try {
            return Watchdog.call("describe", settings.timeLimit(), () -> {
                try (EpFactory factory = provider.factories().get()) {
                    final DeviceDiscovery discovery = factory.discoverDevices();
                    return new ConformanceReport.Subject(
                            factory.name(),
                            factory.vendor(),
                            factory.version(),
                            discovery.devices().stream().map(EpDevice::toString).toList(),
                            discovery.notes(),
                            jdk,
                            system);
                }
            });
        } catch (Throwable failure) {
            final List<String> notes = List.of("the provider cannot be described: " + Expect.describe(failure));
            return new ConformanceReport.Subject("?", "?", "?", List.of(), notes, jdk, system);
        }
    }

    /** Collects the results of the test engine. */
    private static final class Results implements TestExecutionListener {
        final List<TestResult> tests = new ArrayList<>();
        private final Consumer<TestResult> progress;
        private final Map<String, Long> starts = new HashMap<>();

        Results(Consumer<TestResult> progress) {
            this.progress = progress;
        }

        @Override
        public void executionStarted(TestIdentifier identifier) {
            starts.put(identifier.getUniqueId(), System.nanoTime());
        }

        @Override
        public void executionFinished(TestIdentifier identifier, TestExecutionResult execution) {
            final Optional<TestName> name = identifier
                    .getSource()
                    .filter(MethodSource.class::isInstance)
                    .map(MethodSource.class::cast)
                    .flatMap(source -> TestName.of(source.getMethodName()));
            final boolean isFailure = execution.getStatus() != TestExecutionResult.Status.SUCCESSFUL;
            if (name.isEmpty() && isFailure) {
                throw new IllegalStateException(
                        "the kit itself failed in " + identifier.getDisplayName(),
                        execution.getThrowable().orElse(null));
            }
            if (name.isPresent() && (identifier.isTest() || isFailure)) {
                final TestResult result = result(identifier, name.get(), execution);
                tests.add(result);
                progress.accept(result);
            }
        }

        private TestResult result(TestIdentifier identifier, TestName test, TestExecutionResult execution) {
            final Optional<Throwable> thrown = execution.getThrowable();
            final Status status;
            if (thrown.isEmpty()) {
                status = Status.PASSED;
            } else if (thrown.get() instanceof TestAbortedException) {
                status = Status.SKIPPED;
            } else {
                status = test.strength() == TestName.Strength.OPTIONAL ? Status.ADVICE : Status.FAILED;
            }
            final long start = starts.getOrDefault(identifier.getUniqueId(), System.nanoTime());
            return new TestResult(
                    ((MethodSource) identifier.getSource().orElseThrow()).getMethodName(),
                    identifier.getDisplayName(),
                    status,
                    thrown.map(Throwable::getMessage).orElse(""),
                    thrown.filter(ProgramFailure.class::isInstance)
                            .map(failure -> ((ProgramFailure) failure).program())
                            .orElse(""),
                    Duration.ofNanos(System.nanoTime() - start));
        }
    }
}
