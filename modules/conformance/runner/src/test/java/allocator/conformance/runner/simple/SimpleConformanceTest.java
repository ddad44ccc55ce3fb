package allocator.conformance.runner.simple;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.ConformanceSettings;
import allocator.conformance.DeviceProbe;
import allocator.spi.EpFactory;
import java.util.Optional;
import org.junit.jupiter.api.Tag;

/** The suites under plain JUnit, as in a vendor's test: the provider without a fault passes. */
@Tag("thorough")
class SimpleConformanceTest extends AllocatorConformance {
    @Override
    protected EpFactory factory() {
        return new SimpleFactory(Fault.NONE);
    }

    @Override
    protected Optional<DeviceProbe> probe(EpFactory factory) {
        return Optional.of(((SimpleFactory) factory).device());
    }

    @Override
    protected ConformanceSettings settings(ConformanceSettings configured) {
        return configured.withQuick(true);
    }
}
