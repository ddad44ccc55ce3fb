package allocator.conformance.runner;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.conformance.ConformanceSettings;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A failure that comes once counts, except where what is held changes without a call: there the test runs again. */
class RestlessProviderTest {
    private static final ConformanceSettings QUICK = new ConformanceSettings(1, true, Duration.ofSeconds(60));

    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Restless", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aTestThatFailsOnceRunsAgain(boolean isRestless) {
        final AtomicInteger misaligned = new AtomicInteger(1);
        final ConformanceReport report =
                new ConformanceRunner(() -> new Factory(isRestless, misaligned), QUICK, "A-04").run(_ -> {});
        assertThat(misaligned).hasNonPositiveValue();
        assertThat(report.passed()).isEqualTo(isRestless);
    }

    /**
     * A provider whose first blocks are misaligned.
     *
     * @param isRestless whether what is held changes by itself
     * @param misaligned how many blocks are
     */
    private record Factory(boolean isRestless, AtomicInteger misaligned) implements EpFactory {
        @Override
        public String name() {
            return "restless";
        }

        @Override
        public String vendor() {
            return "The conformance kit's tests";
        }

        @Override
        public String version() {
            return "1";
        }

        @Override
        public DeviceDiscovery discoverDevices() {
            return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.GPU, 0, 0, "device", Map.of()))
                    .memory(MEMORY)
                    .build());
        }

        @Override
        public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
            options.requireValid(List.of());
            return new Numbers(isRestless, misaligned);
        }

        @Override
        public void releaseAllocator(Allocator allocator) {
            // There is nothing to return.
        }
    }

    /** Hands out numbers as addresses. */
    private static final class Numbers implements Allocator {
        private final boolean isRestless;
        private final AtomicInteger misaligned;
        private final Map<Long, Long> live = new HashMap<>();
        private long next = 1 << 20;

        Numbers(boolean isRestless, AtomicInteger misaligned) {
            this.isRestless = isRestless;
            this.misaligned = misaligned;
        }

        @Override
        public synchronized long alloc(long byteSize) {
            if (byteSize == 0) {
                return 0;
            }
            if (byteSize > 1L << 40) {
                throw new OutOfMemoryException("full", Shortage.ofDevice(MEMORY, byteSize, 1L << 40));
            }
            final long address = misaligned.getAndDecrement() > 0 ? next + 1 : next;
            next += (byteSize / 256 + 2) * 256;
            live.put(address, byteSize);
            return address;
        }

        @Override
        public synchronized void free(long address) {
            live.remove(address);
        }

        @Override
        public MemoryInfo info() {
            return MEMORY;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.CURRENT;
        }

        @Override
        public synchronized AllocatorStats stats() {
            final long inUse = live.values().stream().mapToLong(Long::longValue).sum();
            final long cached = isRestless ? System.nanoTime() & 1023 : 0;
            return new AllocatorStats.Builder()
                    .inUse(inUse, inUse, 1L << 50)
                    .held(inUse + cached, 1L << 50)
                    .build();
        }
    }
}
