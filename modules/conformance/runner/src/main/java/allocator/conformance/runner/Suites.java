package allocator.conformance.runner;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.contract.TestName;
import allocator.conformance.program.ProgramFailure;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.subject.CleanupFindings;
import allocator.conformance.subject.CleanupFindings.Finding;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.HangError;
import allocator.conformance.subject.Watchdog;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.opentest4j.AssertionFailedError;

/**
 * The suites on one provider, in this process.
 *
 * @param findings receives the faults found by cleanups, and changes of the process
 * @param before the state in which the provider is to leave the process
 */
record Suites(
        ProviderRun.Provider provider, ConformanceSettings settings, CleanupFindings findings, ProcessState before) {
    /** A message longer than this is cut; a provider may throw one of any length. */
    private static final int LONGEST_MESSAGE = 1 << 16;

    /** A name or a note that is longer is cut. */
    private static final int LONGEST_TEXT = 1000;

    /** Receives what happens, as it happens. */
    interface Listener {
        /** A test starts on a memory. */
        void started(String test, String chapter, String memory);

        /** A test is done; {@code isHang} if a call did not return. */
        void finished(TestResult result, boolean isHang);
    }

    /**
     * Runs the selected tests.
     *
     * @throws IllegalStateException if the kit fails, or a selected test did not run
     */
    void run(Predicate<MethodSource> selection, Listener listener) {
        final Results results = new Results(listener);
        ScopedValue.where(ProviderRun.PROVIDER, provider)
                .where(CleanupFindings.CURRENT, findings)
                .run(() -> LauncherFactory.create(LauncherConfig.builder()
                                .enableTestExecutionListenerAutoRegistration(false)
                                .enableLauncherDiscoveryListenerAutoRegistration(false)
                                .enableLauncherSessionListenerAutoRegistration(false)
                                .enablePostDiscoveryFilterAutoRegistration(false)
                                .build())
                        .execute(request(selection), results));
        before.restore();
        if (results.kitFailure != null) {
            throw results.kitFailure;
        }
        requireRun(chapters().flatMap(chapter -> selected(chapter, selection).stream()), results.begun);
    }

    /** A test that is selected and of which the engine knows nothing would be taken for one that there is not. */
    static void requireRun(Stream<MethodSource> selected, Set<String> begun) {
        final List<String> missing =
                selected.map(Suites::key).filter(test -> !begun.contains(test)).toList();
        if (!missing.isEmpty()) {
            throw new IllegalStateException("the kit did not run tests that are selected: " + missing);
        }
    }

    private static String key(MethodSource test) {
        return test.getClassName() + "." + test.getMethodName();
    }

    private LauncherDiscoveryRequest request(Predicate<MethodSource> selection) {
        return LauncherDiscoveryRequestBuilder.request()
                .selectors(selectors(selection))
                .filters(EngineFilter.includeEngines("junit-jupiter"))
                .configurationParameters(settings.parameters())
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "false")
                .build();
    }

    /** Names the tests one by one, or by chapter: the engine takes most of a second to find all of them. */
    private static List<DiscoverySelector> selectors(Predicate<MethodSource> selection) {
        return chapters()
                .flatMap(chapter -> selectors(chapter, selected(chapter, selection)))
                .toList();
    }

    private static Stream<DiscoverySelector> selectors(Class<?> chapter, List<MethodSource> selected) {
        final List<Class<?>> enclosing = List.of(ProviderRun.class);
        return selected.size() == tests(chapter).size()
                ? Stream.of(DiscoverySelectors.selectNestedClass(enclosing, chapter))
                : selected.stream()
                        .map(test -> DiscoverySelectors.selectNestedMethod(enclosing, chapter, test.getJavaMethod()));
    }

    private static Stream<Class<?>> chapters() {
        return ReflectionSupport.streamNestedClasses(
                ProviderRun.class, nested -> nested.isAnnotationPresent(Nested.class));
    }

    /** Returns the tests of a chapter; a kit in which a chapter has none cannot be read. */
    private static List<MethodSource> tests(Class<?> chapter) {
        final List<MethodSource> tests = ReflectionSupport.findMethods(
                        chapter, method -> TestName.of(method.getName()).isPresent(), HierarchyTraversalMode.TOP_DOWN)
                .stream()
                .map(method -> MethodSource.from(chapter, method))
                .toList();
        if (tests.isEmpty()) {
            throw new IllegalStateException("the kit has no tests in " + chapter.getName());
        }
        return tests;
    }

    private static List<MethodSource> selected(Class<?> chapter, Predicate<MethodSource> selection) {
        return tests(chapter).stream().filter(selection).toList();
    }

    /** Returns the class of the chapter that has a test, by the name with which the engine reports the chapter. */
    static String chapterOf(String test) {
        return chapters()
                .flatMap(chapter -> tests(chapter).stream())
                .filter(source -> source.getMethodName().equals(test))
                .map(MethodSource::getClassName)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("the kit has no test " + test));
    }

    /** Describes a provider and its environment; one that cannot be described has a note that says why. */
    static ConformanceReport.Subject describe(ProviderRun.Provider provider, ConformanceSettings settings) {
        final String jdk = System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version");
        final String system = System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                + System.getProperty("os.arch");
        try {
            return Watchdog.call("describe", settings.timeLimit(), () -> {
                final EpFactory factory = provider.factories().get();
                final DeviceDiscovery discovery = factory.discoverDevices();
                final ConformanceReport.Subject subject = new ConformanceReport.Subject(
                        text(factory.name()),
                        text(factory.vendor()),
                        text(factory.version()),
                        discovery.devices().stream()
                                .map(EpDevice::toString)
                                .map(Suites::text)
                                .toList(),
                        discovery.notes().stream().map(Suites::text).toList(),
                        jdk,
                        system);
                // Not waited for: each test reports a factory that does not close.
                Thread.ofPlatform().daemon().name("close after describe").start(factory::close);
                return subject;
            });
        } catch (Throwable failure) {
            final List<String> notes = List.of("the provider cannot be described: " + Expect.describe(failure));
            return new ConformanceReport.Subject("?", "?", "?", List.of(), notes, jdk, system);
        }
    }

    /** Returns what a provider says of itself, which may be of any length, or {@code null} if it is wrong. */
    private static String text(@Nullable String said) {
        return said == null ? "?" : Expect.cut(said, LONGEST_TEXT);
    }

    /** Hands on the results of the test engine. */
    private final class Results implements TestExecutionListener {
        private final Listener listener;
        private final Map<String, Long> starts = new HashMap<>();
        private final Set<String> begun = new HashSet<>();
        private @Nullable IllegalStateException kitFailure;

        Results(Listener listener) {
            this.listener = listener;
        }

        private static Optional<MethodSource> source(TestIdentifier identifier) {
            return identifier
                    .getSource()
                    .filter(MethodSource.class::isInstance)
                    .map(MethodSource.class::cast)
                    .filter(source -> TestName.of(source.getMethodName()).isPresent());
        }

        @Override
        public void executionStarted(TestIdentifier identifier) {
            starts.put(identifier.getUniqueId(), System.nanoTime());
            source(identifier).ifPresent(source -> {
                begun.add(key(source));
                listener.started(
                        source.getMethodName(),
                        source.getClassName(),
                        identifier.isTest() ? identifier.getDisplayName() : "provider");
            });
        }

        @Override
        public void executionFinished(TestIdentifier identifier, TestExecutionResult execution) {
            try {
                finished(identifier, execution);
            } catch (Throwable e) {
                // The engine swallows it, and the test would be lost.
                kitFailure = new IllegalStateException("a result of " + identifier.getDisplayName() + " is lost", e);
            }
        }

        private void finished(TestIdentifier identifier, TestExecutionResult execution) {
            final boolean isFailure = execution.getStatus() != TestExecutionResult.Status.SUCCESSFUL;
            final Optional<MethodSource> source = source(identifier);
            if (source.isEmpty() && isFailure) {
                // Thrown once the engine is done: it swallows what a listener throws.
                kitFailure = new IllegalStateException(
                        "the kit itself failed in " + identifier.getDisplayName(),
                        execution.getThrowable().orElse(null));
            }
            if (source.isPresent() && (identifier.isTest() || isFailure)) {
                final TestResult result = result(identifier, source.get().getMethodName(), execution);
                compareProcess(result);
                listener.finished(
                        result, execution.getThrowable().filter(Results::isHang).isPresent());
            }
        }

        private static boolean isHang(Throwable thrown) {
            return Expect.causes(thrown).stream().anyMatch(HangError.class::isInstance);
        }

        private void compareProcess(TestResult result) {
            final List<String> changes = before.changes();
            if (!changes.isEmpty()) {
                before.restore();
            }
            if (result.status() == Status.PASSED) {
                changes.forEach(
                        change -> findings.add(new Finding("L-04", result.name() + " on " + result.memory(), change)));
            }
        }

        private TestResult result(TestIdentifier identifier, String name, TestExecutionResult execution) {
            final Optional<Throwable> thrown = execution.getThrowable();
            final Status status;
            if (thrown.isEmpty()) {
                status = Status.PASSED;
            } else if (thrown.get() instanceof Expect.Skip) {
                status = Status.SKIPPED;
            } else {
                status = TestName.of(name).orElseThrow().strength() == TestName.Strength.OPTIONAL
                        ? Status.ADVICE
                        : Status.FAILED;
            }
            final long start = starts.getOrDefault(identifier.getUniqueId(), System.nanoTime());
            return new TestResult(
                    name,
                    identifier.getDisplayName(),
                    status,
                    thrown.map(cause -> message(identifier, name, cause)).orElse(""),
                    thrown.filter(ProgramFailure.class::isInstance)
                            .map(failure -> ((ProgramFailure) failure).program())
                            .orElse(""),
                    Duration.ofNanos(System.nanoTime() - start));
        }

        /** Returns the message of the kit; that of a provider which aborts the test is no reason to skip it. */
        private static String message(TestIdentifier identifier, String name, Throwable thrown) {
            final String message = thrown instanceof AssertionFailedError || thrown instanceof Expect.Skip
                    ? String.valueOf(thrown.getMessage())
                    : TestName.of(name).orElseThrow().rule() + " is broken on " + identifier.getDisplayName()
                            + ": unexpected " + Expect.describe(thrown);
            return Expect.cut(message, LONGEST_MESSAGE);
        }
    }
}
