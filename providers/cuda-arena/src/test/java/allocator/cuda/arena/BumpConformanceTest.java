package allocator.cuda.arena;

import allocator.conformance.ConformanceSettings;
import allocator.cuda.testkit.SimulatedConformance;
import allocator.testkit.DefaultedFactory;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/** With {@code arena.kind=bump}, on a simulated device whose streams lag, with each driver call failing in turn. */
@Tag("thorough")
class BumpConformanceTest extends SimulatedConformance {
    BumpConformanceTest() {
        super(driver -> new DefaultedFactory(new CudaArenaFactory(driver), "arena.kind", "bump", Set.of("bfc")));
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
