package allocator.conformance;

import allocator.spi.EpFactory;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/** The suites as the runner runs them, on the provider that it has bound. */
final class ProviderRun extends AllocatorConformance {
    /**
     * A provider, and how to look beneath it.
     *
     * @param factories makes a factory
     * @param probes makes a view of the device beneath one
     */
    record Provider(Supplier<EpFactory> factories, Function<EpFactory, Optional<DeviceProbe>> probes) {}

    /** The provider of the run that this thread performs. */
    static final ScopedValue<Provider> PROVIDER = ScopedValue.newInstance();

    /** Read here, on the thread of the run; the tests have threads of their own. */
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
