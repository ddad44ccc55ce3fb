package allocator.simulation.world;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaEpFactory;
import allocator.cuda.memory.DeviceMemory;
import allocator.cuda.memory.DriverPool;
import allocator.cuda.memory.PinnedMemory;
import allocator.cuda.memory.PoolSettings;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** A provider of pools, and of device and pinned memory block by block, as cuda-mempool. */
final class PoolFactory extends CudaEpFactory {
    private static final List<OptionKey<?>> KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE), PoolSettings.KEYS.stream())
            .toList();

    PoolFactory(Supplier<CudaAvailability> probe) {
        super(probe);
    }

    @Override
    public String name() {
        return "pools";
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return KEYS;
    }

    @Override
    protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
        if (info.equals(device.readOnlyMemory())) {
            return new Choice(null, () -> new DeviceMemory(device, info));
        }
        if (info.equals(device.pinnedMemory())) {
            return sharedUnlessExclusive(options, info, () -> new PinnedMemory(device, options));
        }
        final AllocatorOptions effective = options.resolve(KEYS);
        return sharedUnlessExclusive(
                options, info, () -> DriverPool.create(device, PoolSettings.from(options), effective));
    }

    /** Returns settings of a pool with a limit, {@code 0} for none. */
    static AllocatorOptions options(SplittableRandom random, long limit) {
        final Map<String, String> settings = new HashMap<>();
        if (limit > 0) {
            settings.put("arena.max_mem", Long.toString(limit));
        }
        if (random.nextBoolean()) {
            settings.put(PoolSettings.RELEASE_THRESHOLD.name(), "0");
        }
        return AllocatorOptions.of(settings);
    }
}
