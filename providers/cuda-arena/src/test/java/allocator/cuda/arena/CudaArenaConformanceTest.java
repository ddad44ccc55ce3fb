package allocator.cuda.arena;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.DeviceProbe;
import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;

/** On a simulated device whose streams lag, with each driver call failing in turn. */
class CudaArenaConformanceTest extends AllocatorConformance {
    private final Map<EpFactory, SimulatedCudaDriver> drivers = new ConcurrentHashMap<>();

    @Override
    protected EpFactory factory() {
        final SimulatedCudaDriver driver =
                SimulatedCudaDriver.builder().withLaggingStreams().build();
        final EpFactory factory = new CudaArenaFactory(() -> new CudaAvailability.Available(driver));
        drivers.put(factory, driver);
        return factory;
    }

    @Override
    protected Optional<DeviceProbe> probe(EpFactory factory) {
        return Optional.of(new Probe(drivers.get(factory)));
    }

    /** What the simulated driver knows. */
    private record Probe(SimulatedCudaDriver driver) implements DeviceProbe {
        @Override
        public OptionalLong bytesHeld(MemoryInfo memory) {
            return OptionalLong.empty();
        }

        @Override
        public long calls() {
            return driver.controls().calls();
        }

        @Override
        public void failCall(long number) {
            driver.controls().clearFailures();
            if (number > driver.controls().calls()) {
                driver.controls().failOnCall(number - driver.controls().calls(), CudaResult.NOT_PERMITTED);
            }
        }

        @Override
        public void lag(boolean lagging) {
            // The driver was made so that its streams lag always.
        }

        @Override
        public List<String> faults() {
            return driver.controls().hazards();
        }

        @Override
        public List<String> leaks() {
            return driver.controls().leaks();
        }
    }
}
