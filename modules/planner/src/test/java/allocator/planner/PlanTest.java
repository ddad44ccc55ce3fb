package allocator.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class PlanTest {
    private static final Instance INSTANCE =
            new Instance(List.of(new Lifetime(0, 4, 100, 1), new Lifetime(5, 9, 200, 64), new Lifetime(0, 9, 30, 1)));

    private static Plan plan(int... blocks) {
        return Planner.builder()
                .build()
                .plan(new Instance(
                        Arrays.stream(blocks).mapToObj(INSTANCE::lifetime).toList()));
    }

    @Test
    void stackedGroupsShareNoMemory() {
        final Plan stacked = Plan.stacked(INSTANCE, List.of(List.of(2, 0), List.of(1)), List.of(plan(2, 0), plan(1)));
        PlanValidator.requireValid(INSTANCE, stacked);
        assertThat(stacked.offset(1)).isEqualTo(192);
        assertThat(stacked.height()).isEqualTo(448);
        assertThat(stacked.lowerBound()).isEqualTo(386);
    }

    @Test
    void groupsThatDoNotCoverTheInstanceAreRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Plan.stacked(INSTANCE, List.of(List.of(0)), List.of(plan(0))))
                .withMessage("1 blocks in groups, 3 in the instance");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Plan.stacked(INSTANCE, List.of(List.of(0)), List.of()))
                .withMessage("0 plans for 1 groups");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Plan.stacked(INSTANCE, List.of(List.of(0, 1)), List.of(plan(0))))
                .withMessage("group 0 has 2 blocks, its plan 1");
    }

    @Test
    void plansOfTheSameOffsetsAreEqual() {
        assertThat(plan(0, 1))
                .isEqualTo(plan(0, 1))
                .hasSameHashCodeAs(plan(0, 1))
                .isNotEqualTo(plan(0, 2));
        assertThat(plan(0, 2)).hasToString("2 blocks in 130 bytes, at least 130");
    }
}
