package allocator.resource;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.cpu.reference.CpuReferenceFactory;
import allocator.spi.EpFactory;
import allocator.testkit.DecoratedFactory;
import org.junit.jupiter.api.Tag;

/** A provider's allocator below every decorator keeps the whole contract. */
@Tag("thorough")
class DeepStackConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new DecoratedFactory(
                new CpuReferenceFactory(),
                allocator -> ResourceAllocator.of(EveryDecorator.over(new AllocatorResource(allocator))));
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
