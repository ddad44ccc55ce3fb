package allocator.cpu.reference;

import allocator.conformance.AllocatorConformance;
import allocator.spi.EpFactory;

class CpuReferenceConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new CpuReferenceFactory();
    }
}
