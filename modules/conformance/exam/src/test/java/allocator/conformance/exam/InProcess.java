package allocator.conformance.exam;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.runner.ConformanceReport;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceRunner;
import allocator.spi.EpFactory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.opentest4j.TestAbortedException;

/** Runs a part of the kit in this process, up to the first test that fails. */
final class InProcess {
    private static final Duration TIME_LIMIT = Duration.ofSeconds(10);

    private InProcess() {}

    /**
     * Runs the tests of some rules on a provider; returns the first that fails.
     *
     * @param rules their ids, or patterns such as {@code *}
     */
    static Optional<Finding> firstFailure(Supplier<EpFactory> factories, List<String> rules, boolean isQuick) {
        final AtomicReference<Finding> found = new AtomicReference<>();
        final Supplier<EpFactory> untilFound = () -> {
            if (found.get() != null) {
                throw new TestAbortedException("the provider is known to be wrong");
            }
            return factories.get();
        };
        final ConformanceReport report = new ConformanceRunner(
                        untilFound, new ConformanceSettings(1, isQuick, TIME_LIMIT), String.join(",", rules))
                .run(result -> {
                    if (result.status() == Status.FAILED) {
                        final String rule = result.name().replaceFirst("\\w+?_([A-Z])(\\d\\d)_.*", "$1-$2");
                        found.compareAndSet(null, new Finding(rule, result.name(), result.summary()));
                    }
                });
        return report.passed() ? Optional.empty() : Optional.of(found.get());
    }
}
