package allocator.planner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.plan.Instance;
import allocator.plan.Plan;
import allocator.plan.PlanCheck;
import java.util.stream.IntStream;

/** Proves plans by the check of plan files, which shares no code with the search. */
final class PlanValidator {
    private PlanValidator() {}

    static void requireValid(Instance instance, Plan plan) {
        final PlanCheck check = PlanCheck.of(
                IntStream.range(0, instance.size()).mapToObj(Integer::toString).toList(), instance, plan.offsets());
        assertThat(check.fault()).isEmpty();
        assertThat(check.height()).isLessThanOrEqualTo(plan.height());
        assertThat(plan.lowerBound()).isBetween(check.load(), plan.height());
    }
}
