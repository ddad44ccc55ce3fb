package allocator.conformance.runner;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.DeviceProbe;
import allocator.spi.EpFactory;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/** The suites as the runner executes them, on the provider that it has bound to {@link #PROVIDER}. */
final class ProviderRun extends AllocatorConformance {
    /**
     * A provider and the probe of its device.
     *
     * @param factories makes a new factory on each call
     * @param probes returns the probe of the device beneath a factory, if there is one
     */
    record Provider(Supplier<EpFactory> factories, Function<EpFactory, Optional<DeviceProbe>> probes) {}

    /** The provider of the run on this thread. */
    static final ScopedValue<Provider> PROVIDER = ScopedValue.newInstance();

    /** Read on construction, on the thread of the run; the tests run on threads of their own. */
    private final Provider provider = PROVIDER.get();

    @Override
    protected EpFactory factory() {
        return provider.factories().get();
    }

    @Override
    protected Optional<DeviceProbe> probe(EpFactory factory) {
        return provider.probes().apply(factory);
    }
}
