package allocator.resource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import allocator.resource.FaultInjectionResource.FaultPlan;
import allocator.spi.OutOfMemoryException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FaultInjectionResourceTest {
    private final FakeResource addresses = new FakeResource(1L << 40);

    @Test
    void thePlannedRequestsFailAndNeverReachTheUpstream() {
        MemoryResource faulty = new FaultInjectionResource(addresses, FaultPlan.onRequest(2));
        faulty.allocate(1);
        assertThatThrownBy(() -> faulty.allocate(2)).isInstanceOf(OutOfMemoryException.class);
        faulty.allocate(3);
        assertThat(addresses.blocks()).isEqualTo(2);
    }

    @Test
    void chanceIsTheSameForTheSameSeed() {
        FaultPlan plan = FaultPlan.byChance(0.3, 9);
        FaultPlan again = FaultPlan.byChance(0.3, 9);
        long failed = IntStream.range(0, 1000).filter(i -> plan.fails(1, i)).count();
        assertThat(failed).isBetween(200L, 400L);
        assertThat(IntStream.range(0, 1000)).allMatch(i -> plan.fails(1, i) == again.fails(1, i));
        assertThat(FaultPlan.fromSize(10).fails(9, 1)).isFalse();
        assertThat(FaultPlan.fromSize(10).fails(10, 1)).isTrue();
    }
}
