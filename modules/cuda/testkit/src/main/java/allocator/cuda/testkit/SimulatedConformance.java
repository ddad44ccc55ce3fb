package allocator.cuda.testkit;

import allocator.conformance.AllocatorConformance;
import allocator.conformance.DeviceProbe;
import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.cuda.simulated.TestControls;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.testkit.FaultyCalls;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;

/** The conformance kit on simulated devices whose streams lag, with each driver call failing in turn. */
public abstract class SimulatedConformance extends AllocatorConformance {
    private final Map<EpFactory, Probe> probes = new ConcurrentHashMap<>();
    private final int deviceCount;
    private final Function<Supplier<CudaAvailability>, EpFactory> provider;

    /** Creates a fixture of one device, of a provider on the driver that is passed to it. */
    protected SimulatedConformance(Function<Supplier<CudaAvailability>, EpFactory> provider) {
        this(1, provider);
    }

    /** Creates a fixture of so many devices, of a provider on the driver that is passed to it. */
    protected SimulatedConformance(int deviceCount, Function<Supplier<CudaAvailability>, EpFactory> provider) {
        this.deviceCount = deviceCount;
        this.provider = provider;
    }

    @Override
    protected final EpFactory factory() {
        final SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
                .withDevices(deviceCount)
                .withLaggingStreams()
                .build();
        final FaultyCalls faults = new FaultyCalls();
        final EpFactory factory =
                provider.apply(() -> new CudaAvailability.Available(new FaultyDriver(driver, faults)));
        probes.put(factory, new Probe(driver.controls(), faults));
        return factory;
    }

    @Override
    protected final Optional<DeviceProbe> probe(EpFactory factory) {
        return Optional.of(probes.get(factory));
    }

    /** A view of a simulated device. */
    private record Probe(TestControls device, FaultyCalls injected) implements DeviceProbe {
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

        @Override
        public boolean failCalls(long number, boolean isLasting, Runnable failure) {
            injected.stop();
            if (number > device.calls()) {
                injected.failAt(injected.calls() + number - device.calls(), isLasting, () -> thrownBy(failure));
            }
            return true;
        }

        private static Throwable thrownBy(Runnable failure) {
            try {
                failure.run();
            } catch (Throwable thrown) {
                return thrown;
            }
            throw new IllegalStateException("the failure was not thrown");
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
