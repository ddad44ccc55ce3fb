package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.runner.simple.Fault;
import allocator.conformance.runner.simple.SimpleFactory;
import allocator.spi.EpFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** A vendor's test under plain JUnit runs the rules that its parameter selects. */
class SelectedRulesTest {
    /** The test of a vendor; no test of its own, as it is nested. */
    static final class Vendors extends AllocatorConformance {
        @Override
        protected EpFactory factory() {
            return new SimpleFactory(Fault.NONE);
        }
    }

    private final List<String> run = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    private void prove(String rules) {
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(DiscoverySelectors.selectClass(Vendors.class))
                                .configurationParameter("allocator.conformance.rules", rules)
                                .build(),
                        new TestExecutionListener() {
                            @Override
                            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                                if (test.isTest()) {
                                    run.add(test.getParentId().orElseThrow().replaceAll(".*#(\\w+)\\(.*", "$1"));
                                }
                                if (result.getStatus() == TestExecutionResult.Status.FAILED) {
                                    result.getThrowable().ifPresent(failures::add);
                                }
                            }
                        });
    }

    @Test
    void onlyTheTestsOfSelectedRulesRun() {
        prove("m-02,H-0?");
        assertThat(failures).isEmpty();
        assertThat(run)
                .contains("required_M02_alignmentsArePowersOfTwo", "required_H02_aSegmentIsTheAllocationItself")
                .allMatch(test -> test.matches("required_(M02|H0.)_.*"));
    }

    @Test
    void aSelectionOfNoRuleIsOneFailureThatListsTheRules() {
        prove("Z-01");
        assertThat(run).isEmpty();
        assertThat(failures)
                .singleElement()
                .satisfies(failure -> assertThat(failure.getCause())
                        .hasMessageContaining("no rule matches 'Z-01'; there are M-01 to M-03, F-01 to F-10,"));
    }
}
