package allocator.resource;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.spi.EpFactory;

/** A resource that is no provider's allocator keeps the whole contract. */
class HostResourceConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new HostResourceFactory(StatisticsResource::new);
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
