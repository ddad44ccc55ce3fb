package allocator.cuda.testkit;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.DeviceProbe;
import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.simulated.TestControls;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;

/** The conformance kit on simulated devices whose streams lag, with each driver call failing in turn. */
public abstract class SimulatedConformance extends AllocatorConformance {
    private final Map<EpFactory, TestControls> devices = new ConcurrentHashMap<>();
    private final Function<Supplier<CudaAvailability>, EpFactory> provider;

    /**
     * Creates a fixture.
     *
     * @param provider creates a factory of the provider on the driver that is passed to it
     */
    protected SimulatedConformance(Function<Supplier<CudaAvailability>, EpFactory> provider) {
        this.provider = provider;
    }

    @Override
    protected final EpFactory factory() {
        final SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withLaggingStreams().build();
        final EpFactory factory = provider.apply(() -> new CudaAvailability.Available(driver));
        devices.put(factory, driver.controls());
        return factory;
    }

    @Override
    protected final Optional<DeviceProbe> probe(EpFactory factory) {
        return Optional.of(new Probe(devices.get(factory)));
    }

    /** A view of a simulated device. */
    private record Probe(TestControls device) implements DeviceProbe {
        @Override
        public OptionalLong bytesHeld(MemoryInfo memory) {
            return OptionalLong.empty();
        }

        @Override
        public long calls() {
            return device.calls();
        }

        @Override
        public void failCall(long number) {
            device.clearFailures();
            if (number > device.calls()) {
                device.failOnCall(number - device.calls(), CudaResult.NOT_PERMITTED);
            }
        }

        /** Does nothing: the streams of the device always lag. */
        @Override
        public void lag(boolean lagging) {}

        @Override
        public List<String> faults() {
            return device.hazards();
        }

        @Override
        public List<String> leaks() {
            return device.leaks();
        }
    }
}
