package allocator.planner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.plan.Instance;
import allocator.plan.Lifetime;
import allocator.plan.Plan;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The sample of docs/modules/java.allocator.planner.md. */
class PlannerExamplesTest {
    @Test
    void planThreeBlocks() {
        final Instance instance = new Instance(List.of(
                new Lifetime(0, 10, 4096, 256), // from time 0 to before 10
                new Lifetime(2, 5, 1024, 256),
                new Lifetime(5, 9, 1024, 256)));
        final Plan plan =
                Planner.builder().timeLimit(Duration.ofSeconds(10)).build().plan(instance);
        System.out.printf("%d bytes, at least %d; block 1 at %d%n", plan.height(), plan.lowerBound(), plan.offset(1));

        assertThat(plan.height()).isEqualTo(5120);
        assertThat(plan.isOptimal()).isTrue();
    }
}
