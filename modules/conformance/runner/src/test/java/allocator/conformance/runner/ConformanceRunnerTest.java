package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.simple.Fault;
import allocator.conformance.runner.simple.SimpleFactory;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The runner runs the selected rules, and no others. */
class ConformanceRunnerTest {
    private static final ConformanceSettings QUICK = new ConformanceSettings(1, true, Duration.ofSeconds(60));

    /** Runs the kit on a provider with a fault and a probe. */
    static ConformanceReport report(Fault fault, ConformanceSettings settings, String rules) {
        return new ConformanceRunner(() -> new SimpleFactory(fault), settings, rules)
                .run(
                        new ProviderRun.Provider(
                                () -> new SimpleFactory(fault),
                                factory -> Optional.of(((SimpleFactory) factory).device())),
                        _ -> {});
    }

    @Test
    void onlyTheSelectedRulesRun() {
        final ConformanceReport report = report(Fault.NONE, QUICK, "m-02, H-*");
        assertThat(report.rules()).extracting(ConformanceReport.RuleResult::id).containsExactly("M-02", "H-01", "H-02");
        assertThat(report.rules()).allMatch(rule -> rule.status() == Status.PASSED);
    }

    @Test
    void aPatternThatMatchesNoRuleIsRejected() {
        assertThatThrownBy(() -> new ConformanceRunner(() -> new SimpleFactory(Fault.NONE), QUICK, "Z-*"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no rule matches 'Z-*'");
    }
}
