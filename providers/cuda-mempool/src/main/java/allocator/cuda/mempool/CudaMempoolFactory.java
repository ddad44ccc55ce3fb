package allocator.cuda.mempool;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDrivers;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaEpFactory;
import allocator.cuda.memory.DeviceMemory;
import allocator.cuda.memory.DriverPool;
import allocator.cuda.memory.PinnedMemory;
import allocator.cuda.memory.PoolSettings;
import allocator.cuda.memory.check.StreamChecks;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The provider {@code cuda-mempool}: for each GPU a memory pool of the driver, which all users share unless one asks
 * for a pool of his own. Pinned and read-only memory come block by block.
 */
public final class CudaMempoolFactory extends CudaEpFactory {
    private static final List<OptionKey<?>> OPTION_KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE, StreamChecks.KEY), PoolSettings.KEYS.stream())
            .toList();

    /** Makes the factory; called by the service loader. */
    public CudaMempoolFactory() {
        this(CudaDrivers::probe);
    }

    CudaMempoolFactory(Supplier<CudaAvailability> probe) {
        super(probe);
    }

    @Override
    public String name() {
        return "cuda-mempool";
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return OPTION_KEYS;
    }

    @Override
    protected Optional<String> obstacle(CudaDeviceInfo info) {
        return info.hasMemoryPools()
                ? Optional.empty()
                : Optional.of("the driver has no memory pools for this device; use cuda-arena");
    }

    @Override
    protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
        if (info.equals(device.readOnlyMemory())) {
            return new Choice(null, () -> new DeviceMemory(device, info));
        }
        if (info.equals(device.pinnedMemory())) {
            return sharedUnlessExclusive(options, info, () -> new PinnedMemory(device, options));
        }
        final PoolSettings settings = PoolSettings.from(options);
        final AllocatorOptions effective = options.resolve(OPTION_KEYS);
        return sharedUnlessExclusive(options, info, () -> DriverPool.create(device, settings, effective));
    }
}
