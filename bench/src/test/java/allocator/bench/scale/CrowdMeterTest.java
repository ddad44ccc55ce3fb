package allocator.bench.scale;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CrowdMeterTest {
    @ParameterizedTest
    @EnumSource(names = {"BLOCKS_ARENA", "BLOCKS_ARENA_QUICK", "BLOCKS_BUMP", "STREAMS_ARENA", "STREAMS_BUMP"})
    void measuresEveryOperationAtEachSize(CrowdType type) {
        final CrowdMeter.Result result = CrowdMeter.measure(type, 300, 0, Duration.ofMillis(2));

        assertThat(result.sizes()).containsExactly(3, 30, 300);
        assertThat(result.costs())
                .extracting(Costs::operation)
                .startsWith("make one")
                .endsWith("close with all, for each");
        assertThat(result.costs())
                .allSatisfy(costs -> assertThat(costs.nanos()).hasSize(3).allMatch(cost -> cost > 0));
    }

    @Test
    void membersAreMadeAndEndedInOrderEachOnce() {
        try (Crowd crowd = CrowdType.BLOCKS_ARENA.open(3)) {
            for (int i = 0; i < 3; i++) {
                crowd.add(i);
            }
            crowd.operations().values().forEach(operation -> operation.accept(3));
            // An arena rejects a second free, so that a block that was lost or freed twice would throw.
            List.of(2, 1, 0).forEach(crowd::remove);
        }
    }
}
