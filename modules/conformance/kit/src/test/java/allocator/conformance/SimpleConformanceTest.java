package allocator.conformance;

import allocator.spi.EpFactory;
import java.util.Optional;

/** The provider without a fault passes everything. */
class SimpleConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new SimpleFactory(Fault.NONE);
    }

    @Override
    protected Optional<DeviceProbe> probe(EpFactory factory) {
        return Optional.of(((SimpleFactory) factory).device());
    }
}
