package allocator.cpu.reference;

import static org.assertj.core.api.Assertions.assertThat;

import allocator.provider.support.platform.Platform;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.testkit.FaultsInTurn;
import allocator.testkit.FaultyCalls;
import allocator.testkit.Share;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each call of the system fails in turn: nothing is lost, and the statistics stay true. */
class CpuFaultsTest {
    private static final int SEEDS = Share.of(2);

    /** A system without memory, which is no exception: an allocation returns 0. */
    private static final class NoMemory extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    /** Addresses without memory behind them. */
    private static final class FaultyHeap implements Heap {
        private final FaultyCalls calls = new FaultyCalls();
        private final Map<Long, Long> out = new HashMap<>();
        private long next = 1 << 20;

        @Override
        public long allocate(long byteAlignment, long byteSize) {
            try {
                calls.accept("allocate");
            } catch (NoMemory e) {
                return 0;
            }
            final long address = next;
            next += byteSize + byteAlignment;
            out.put(address, byteSize);
            return address;
        }

        @Override
        public void free(long address, long byteSize) {
            calls.accept("free");
            assertThat(out.remove(address)).isEqualTo(byteSize);
        }

        long bytesOut() {
            return out.values().stream().mapToLong(Long::longValue).sum();
        }
    }

    /** The provider on a heap of its own. */
    private static final class Device implements FaultsInTurn.Device {
        private final FaultyHeap heap = new FaultyHeap();
        private final EpFactory factory = new CpuReferenceFactory(heap, Platform.current());
        private final boolean isReadOnly;
        private final AllocatorOptions options;

        Device(boolean isReadOnly, Map<String, String> settings) {
            this.isReadOnly = isReadOnly;
            options = AllocatorOptions.of(settings, "test");
        }

        @Override
        public EpFactory factory() {
            return factory;
        }

        @Override
        public MemoryInfo memory() {
            return factory.discoverDevices().devices().getFirst().memoryInfos().get(isReadOnly ? 1 : 0);
        }

        @Override
        public AllocatorOptions options() {
            return options;
        }

        @Override
        public FaultyCalls calls() {
            return heap.calls;
        }

        @Override
        public OptionalLong bytesOut() {
            return OptionalLong.of(heap.bytesOut());
        }

        @Override
        public List<String> leaks() {
            return heap.out.keySet().stream().map(Long::toHexString).toList();
        }
    }

    private static void run(boolean isReadOnly, Map<String, String> settings) {
        final Map<String, Supplier<Throwable>> failures = new LinkedHashMap<>(FaultsInTurn.failures());
        failures.put("no memory", NoMemory::new);
        final FaultsInTurn faults = new FaultsInTurn(() -> new Device(isReadOnly, settings));
        long injected = 0;
        for (Supplier<Throwable> failure : failures.values()) {
            for (long seed = 1; seed <= SEEDS; seed++) {
                injected += faults.run(seed, false, failure);
                injected += faults.run(seed, true, failure);
            }
        }
        assertThat(injected).isPositive();
    }

    @Test
    void readOnlyMemoryLosesNothing() {
        run(true, Map.of());
    }

    @ParameterizedTest
    @ValueSource(strings = {"best-fit", "slabs"})
    void anArenaLosesNothing(String policy) {
        run(false, Map.of("arena.policy", policy, "arena.initial_chunk_size_bytes", "65536"));
    }

    @Test
    void aBumpArenaLosesNothing() {
        run(
                false,
                Map.of(
                        "arena.kind", "bump",
                        "arena.initial_chunk_size_bytes", "65536",
                        "arena.initial_growth_chunk_size_bytes", "65536",
                        "arena.bump_max_mem", "262144"));
    }

    @Test
    void whatTheSystemDoesNotTakeBackAtTheReleaseGoesBackAtTheClose() {
        final Device device = new Device(true, Map.of());
        final var allocator = device.factory.createAllocator(device.memory(), AllocatorOptions.EMPTY);
        allocator.alloc(4096);
        device.calls().failAt(device.calls().calls() + 1, true, () -> new DeviceException("injected", null));
        try {
            device.factory.releaseAllocator(allocator);
        } catch (DeviceException e) {
            assertThat(e).hasMessageContaining("has not taken back 4096 bytes").hasMessageContaining("injected");
        }
        assertThat(device.leaks()).hasSize(1);
        device.calls().stop();
        device.factory.close();
        assertThat(device.leaks()).isEmpty();
    }
}
