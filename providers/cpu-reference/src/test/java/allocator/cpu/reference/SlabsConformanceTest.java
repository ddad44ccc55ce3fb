package allocator.cpu.reference;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.spi.EpFactory;
import allocator.testkit.DefaultedFactory;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/** The provider keeps the whole contract with {@code arena.policy=slabs} too. */
@Tag("thorough")
class SlabsConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new DefaultedFactory(new CpuReferenceFactory(), "arena.policy", "slabs", Set.of("best-fit", "compact"));
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
