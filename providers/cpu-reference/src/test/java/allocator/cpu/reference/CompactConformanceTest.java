package allocator.cpu.reference;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.spi.EpFactory;
import allocator.testkit.DefaultedFactory;
import org.junit.jupiter.api.Tag;

/** The provider keeps the whole contract with {@code arena.policy=compact} too. */
@Tag("thorough")
class CompactConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return DefaultedFactory.compact(new CpuReferenceFactory());
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
