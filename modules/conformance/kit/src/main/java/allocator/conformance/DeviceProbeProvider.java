package allocator.conformance;

import allocator.spi.EpFactory;
import java.util.Optional;

/**
 * The service by which a jar beside a provider brings the probe of its device to the runner: a module declares
 * {@code provides allocator.conformance.DeviceProbeProvider with ...}, a jar of the class path a file in
 * {@code META-INF/services}. The runner asks for it with {@code --probe}. A test of the vendor's own overrides
 * {@link AllocatorConformance#probe} instead.
 */
public interface DeviceProbeProvider {
    /**
     * Returns the probe of the device beneath a factory.
     *
     * @param factory a factory that a service loader made, of any provider
     * @return the probe; empty if the factory is of another provider, or its device has none
     */
    Optional<DeviceProbe> probe(EpFactory factory);
}
