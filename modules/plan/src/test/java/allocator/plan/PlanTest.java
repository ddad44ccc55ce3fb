package allocator.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;

class PlanTest {
    private static final Instance INSTANCE =
            new Instance(List.of(new Lifetime(0, 4, 100, 1), new Lifetime(5, 9, 200, 64), new Lifetime(0, 9, 30, 1)));

    /** A plan that lays blocks on one another. */
    private static Plan plan(int... blocks) {
        final long[] offsets = new long[blocks.length];
        long height = 0;
        for (int i = 0; i < blocks.length; i++) {
            offsets[i] = height;
            height += INSTANCE.lifetime(blocks[i]).byteSize();
        }
        return new Plan(offsets, height, height, 0);
    }

    @Test
    void stackedGroupsShareNoMemory() {
        final Plan stacked = Plan.stacked(INSTANCE, List.of(List.of(2, 0), List.of(1)), List.of(plan(2, 0), plan(1)));
        assertThat(stacked.offsets()).containsExactly(30, 192, 0);
        assertThat(stacked.height()).isEqualTo(392);
        assertThat(stacked.lowerBound()).isEqualTo(330);
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
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> Plan.stacked(INSTANCE, List.of(List.of(0, 1), List.of(1)), List.of(plan(0, 1), plan(1))))
                .withMessage("block 1 is in a group twice");
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
