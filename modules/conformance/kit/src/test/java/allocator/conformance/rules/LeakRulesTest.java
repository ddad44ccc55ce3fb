package allocator.conformance.rules;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.subject.CleanupFindings;
import allocator.conformance.subject.CleanupFindings.Finding;
import allocator.conformance.subject.ProviderFixture;
import allocator.conformance.subject.Subject;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LeakRulesTest {
    /** A test may leave several things behind, and then there are more findings than tests. */
    @Test
    void testsAreCountedAndNotFindings() {
        final ProviderFixture fixture = new ProviderFixture(
                () -> {
                    throw new IllegalStateException("no factory is needed");
                },
                _ -> Optional.empty());
        final CleanupFindings cleanup = fixture.cleanup();
        for (int i = 0; i < 3; i++) {
            cleanup.testDone();
        }
        for (int i = 0; i < 5; i++) {
            cleanup.add(new Finding("F-04", "one on Cpu (cpu:0)", "leak " + i));
            cleanup.add(new Finding("F-04", "one on Cpu (cpu:1)", "leak " + i));
        }
        final LeakRules rules = new LeakRules() {};
        assertThatThrownBy(() -> rules.required_F04_everyReleaseReturnsTheMemory(
                        new Subject(fixture, ConformanceSettings.DEFAULT, null)))
                .hasMessageStartingWith(
                        "2 of 3 tests ended with something left behind or changed; the first: after one");
    }
}
