package allocator.provider.support.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class EndingsTest {
    private final Endings endings = new Endings();
    private final List<String> ended = new ArrayList<>();
    private int failures;

    private void end(String name) {
        if (failures > 0) {
            failures--;
            throw new AssertionError(name + " fails");
        }
        ended.add(name);
    }

    private Endings.End of(String name) {
        return endings.of(() -> end(name));
    }

    @Test
    void anEndThatSucceedsIsForgotten() {
        of("a").run();
        assertThat(endings.failed()).isZero();
        endings.runAgain();
        assertThat(ended).containsExactly("a");
    }

    @Test
    void anEndThatFailsIsTriedAgain() {
        failures = 2;
        final Endings.End end = of("a");
        assertThatThrownBy(end::run).hasMessage("a fails");
        assertThatThrownBy(end::run).hasMessage("a fails");
        assertThat(endings.failed()).isEqualTo(1);
        endings.runAgain();
        assertThat(ended).containsExactly("a");
        assertThat(endings.failed()).isZero();
    }

    @Test
    void allAreTriedOnceWhateverFails() {
        failures = 5;
        for (String name : List.of("a", "b", "c")) {
            assertThatThrownBy(of(name)::run).hasMessage(name + " fails");
        }
        assertThatThrownBy(endings::runAgain)
                .hasMessage("a fails")
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
        assertThat(ended).containsExactly("c");
        assertThat(endings.failed()).isEqualTo(2);
        endings.runAgain();
        assertThat(ended).containsExactly("c", "a", "b");
    }
}
