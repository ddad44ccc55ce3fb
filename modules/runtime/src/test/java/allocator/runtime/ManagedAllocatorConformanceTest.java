package allocator.runtime;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.EpFactory;
import org.junit.jupiter.api.Tag;

/** What a session gets keeps the contract that its provider keeps. */
@Tag("thorough")
class ManagedAllocatorConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new SessionFactory(new CpuReferenceFactory());
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
