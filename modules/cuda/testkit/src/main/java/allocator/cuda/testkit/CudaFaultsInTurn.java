package allocator.cuda.testkit;

import static org.junit.jupiter.api.Assertions.assertTrue;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaMemoryUsage;
import allocator.cuda.driver.CudaResult;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.testkit.FaultsInTurn;
import allocator.testkit.FaultyCalls;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Faults in turn on a simulated device, for each memory of a provider: each call of the driver fails, once and for
 * good, with each kind of failure. Nothing is lost, and the statistics stay true.
 */
public abstract class CudaFaultsInTurn {
    private static final int SEEDS = 1;

    /** Device, pinned and read-only memory. */
    private static final int MEMORIES = 3;

    private static final int UNKNOWN_ERROR = 999;
    private static final long CAPACITY = 1L << 30;

    private final Function<Supplier<CudaAvailability>, EpFactory> provider;

    /** Creates a fixture of a provider on the driver that is passed to it. */
    protected CudaFaultsInTurn(Function<Supplier<CudaAvailability>, EpFactory> provider) {
        this.provider = provider;
    }

    /** Returns settings to try with device memory beside the defaults. */
    protected abstract List<Map<String, String>> settings();

    /** A provider on a simulated device of its own. */
    private final class Device implements FaultsInTurn.Device {
        private final SimulatedCudaDriver driver = SimulatedCudaDriver.builder()
                .withMemory(CAPACITY)
                .withoutContents()
                .build();
        private final FaultyCalls calls = new FaultyCalls();
        private final EpFactory factory =
                provider.apply(() -> new CudaAvailability.Available(new FaultyDriver(driver, calls)));
        private final MemoryInfo memory;
        private final AllocatorOptions options;

        Device(int index, Map<String, String> settings) {
            memory =
                    factory.discoverDevices().devices().getFirst().memoryInfos().get(index);
            options = AllocatorOptions.of(settings, "test");
        }

        @Override
        public EpFactory factory() {
            return factory;
        }

        @Override
        public MemoryInfo memory() {
            return memory;
        }

        @Override
        public AllocatorOptions options() {
            return options;
        }

        @Override
        public FaultyCalls calls() {
            return calls;
        }

        @Override
        public OptionalLong bytesOut() {
            if (memory.memoryType() == MemoryType.HOST_ACCESSIBLE) {
                return OptionalLong.empty();
            }
            try {
                final CudaMemoryUsage usage = driver.memory().memGetInfo(0);
                return OptionalLong.of(usage.totalByteSize() - usage.freeByteSize());
            } catch (CudaException e) {
                return OptionalLong.of(0); // there is no context, hence no memory
            }
        }

        @Override
        public List<String> leaks() {
            return driver.controls().leaks();
        }
    }

    private static Map<String, Supplier<Throwable>> failures() {
        final Map<String, Supplier<Throwable>> failures = new LinkedHashMap<>(FaultsInTurn.failures());
        failures.put("CudaException", () -> new CudaException(CudaFunction.MEM_ALLOC, "injected", UNKNOWN_ERROR));
        failures.put(
                "CudaException for lack of memory",
                () -> new CudaException(CudaFunction.MEM_ALLOC, "injected", CudaResult.OUT_OF_MEMORY));
        return failures;
    }

    @TestFactory
    final Stream<DynamicTest> nothingIsLost() {
        return IntStream.range(0, MEMORIES)
                .boxed()
                .flatMap(index -> Stream.of(false, true)
                        .flatMap(forGood -> Stream.concat(Stream.of(Map.<String, String>of()), settings().stream())
                                .filter(settings -> index == 0 || settings.isEmpty())
                                .map(settings -> DynamicTest.dynamicTest(
                                        "memory " + index + " with " + settings + ", calls fail "
                                                + (forGood ? "for good" : "once"),
                                        () -> run(index, forGood, settings)))));
    }

    private void run(int index, boolean forGood, Map<String, String> settings) {
        final FaultsInTurn faults = new FaultsInTurn(() -> new Device(index, settings));
        long injected = 0;
        for (Map.Entry<String, Supplier<Throwable>> failure : failures().entrySet()) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                try {
                    injected += faults.run(seed, forGood, failure.getValue());
                } catch (AssertionError e) {
                    throw new AssertionError(failure.getKey() + ": " + e.getMessage(), e);
                }
            }
        }
        assertTrue(injected > 0, "no call failed");
    }
}
