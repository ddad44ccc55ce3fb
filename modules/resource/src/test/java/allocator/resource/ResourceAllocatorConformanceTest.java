package allocator.resource;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.EpFactory;
import allocator.testkit.DecoratedFactory;
import org.junit.jupiter.api.Tag;

/** A provider's allocator, taken as a resource and given back as an allocator, keeps the whole contract. */
@Tag("thorough")
class ResourceAllocatorConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new DecoratedFactory(
                new CpuReferenceFactory(), allocator -> ResourceAllocator.of(new AllocatorResource(allocator)));
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
