package allocator.cuda.arena;

import allocator.conformance.ConformanceSettings;
import allocator.cuda.testkit.SimulatedConformance;
import allocator.testkit.DefaultedFactory;
import org.junit.jupiter.api.Tag;

/**
 * With {@code arena.policy=compact}, on a simulated device whose streams lag, with each driver call failing in turn.
 */
@Tag("thorough")
class CompactConformanceTest extends SimulatedConformance {
    CompactConformanceTest() {
        super(driver -> DefaultedFactory.compact(new CudaArenaFactory(driver)));
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
