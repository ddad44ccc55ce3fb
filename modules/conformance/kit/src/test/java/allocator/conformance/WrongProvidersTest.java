package allocator.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.ConformanceReport.RuleResult;
import allocator.conformance.ConformanceReport.Status;
import allocator.conformance.ConformanceReport.TestResult;
import allocator.spi.EpFactory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each wrong provider fails, on its own rule and with words that tell what is wrong; the right one passes. */
class WrongProvidersTest {
    private static final ConformanceSettings QUICK = new ConformanceSettings(1, true, Duration.ofSeconds(60));
    private static final ConformanceSettings IMPATIENT = new ConformanceSettings(1, true, Duration.ofSeconds(2));
    private static final Set<Fault> HANGING =
            Set.of(Fault.DEADLOCK_OF_ALLOC_AND_STATS, Fault.HANGS_WHEN_IMPOSSIBLE, Fault.VIRTUAL_THREADS_STARVE);

    /** Runs the kit on a provider; on one that hangs, with little patience and for its own rule only. */
    static ConformanceReport prove(Fault fault) {
        final boolean hangs = HANGING.contains(fault);
        return new ConformanceRunner(
                        () -> new SimpleFactory(fault), hangs ? IMPATIENT : QUICK, hangs ? fault.own() : "*")
                .run(
                        new ProviderRun.Provider(
                                () -> new SimpleFactory(fault),
                                factory -> Optional.of(((SimpleFactory) factory).device())),
                        _ -> {});
    }

    private static Set<String> failedRules(ConformanceReport report) {
        return report.rules().stream()
                .filter(rule -> rule.status() == Status.FAILED)
                .map(RuleResult::id)
                .collect(Collectors.toSet());
    }

    /** What chance found besides says nothing about whether the kit accuses the right rule. */
    private static Set<String> requiredRulesThatFailed(ConformanceReport report) {
        return report.tests().stream()
                .filter(test -> test.status() == Status.FAILED && test.name().startsWith("required_"))
                .map(test -> TestName.of(test.name()).orElseThrow().rule())
                .collect(Collectors.toSet());
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void aWrongProviderFailsOnItsOwnRule(Fault fault) {
        final ConformanceReport report = prove(fault);
        final List<String> failures = report.tests().stream()
                .filter(test -> test.status() == Status.FAILED)
                .map(test -> test.name() + ": " + test.summary())
                .toList();
        assertThat(failedRules(report)).as("%s", failures).contains(fault.own());
        assertThat(requiredRulesThatFailed(report)).as("%s", failures).isSubsetOf(fault.rules());
        assertThat(report.passed()).isFalse();
        assertThat(report.tests())
                .filteredOn(test -> test.status() == Status.FAILED)
                .filteredOn(
                        test -> TestName.of(test.name()).orElseThrow().rule().equals(fault.own()))
                .extracting(TestResult::message)
                .as("a message that tells what is wrong")
                .anySatisfy(message -> assertThat(message).contains(fault.message()));
    }

    /** Hands memory to streams that waited for nothing, as a driver's pool does. */
    private static ConformanceReport proveStreams(boolean isOrderedByDevice, boolean hasProbe) {
        final Supplier<EpFactory> factory =
                () -> new SimpleFactory(Fault.REUSE_BEFORE_THE_STREAM_IS_DONE, isOrderedByDevice);
        return new ConformanceRunner(factory, QUICK, "T-*")
                .run(
                        new ProviderRun.Provider(
                                factory,
                                made -> hasProbe ? Optional.of(((SimpleFactory) made).device()) : Optional.empty()),
                        _ -> {});
    }

    @Test
    void whatTheDeviceOrdersIsNotAccusedWhereNobodySeesTheDevice() {
        assertThat(failedRules(proveStreams(false, false))).containsExactly("T-03");
        final ConformanceReport report = proveStreams(true, false);
        assertThat(failedRules(report)).isEmpty();
        assertThat(report.tests())
                .filteredOn(test -> test.name().startsWith("required_T03_"))
                .extracting(TestResult::summary)
                .anySatisfy(summary -> assertThat(summary).contains("the device orders this memory"));
    }

    @Test
    void whatTheDeviceOrdersIsAccusedWhereAProbeLetsStreamsLag() {
        assertThat(failedRules(proveStreams(true, true))).containsExactly("T-03");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.INCLUDE, names = "NONE")
    void theRightProviderBreaksNoRule(Fault fault) {
        final ConformanceReport report = prove(fault);
        assertThat(failedRules(report)).isEmpty();
        assertThat(report.rules())
                .filteredOn(rule -> rule.status() == Status.UNTESTED)
                .extracting(RuleResult::id)
                .containsExactlyInAnyOrderElementsOf(Catalogue.untested().keySet());
        assertThat(report.rules())
                .as("the kit's own provider has every capability, so that no rule is skipped")
                .noneMatch(rule -> rule.status() == Status.SKIPPED);
    }
}
