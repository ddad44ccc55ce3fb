package allocator.cuda.memory;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.stream.Stream;

/**
 * A factory of everything in this module on a simulated machine. Closing it proves that nothing was left behind and no
 * work ever met other work on the same memory.
 */
final class SimulatedGpu extends CudaEpFactory {
    final SimulatedCudaDriver driver;

    SimulatedGpu(SimulatedCudaDriver driver) {
        super(() -> new CudaAvailability.Available(driver));
        this.driver = driver;
        discoverDevices();
    }

    static SimulatedGpu of(SimulatedCudaDriver.Builder builder) {
        return new SimulatedGpu(builder.build());
    }

    @Override
    public String name() {
        return "simulated";
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return Stream.<OptionKey<?>>concat(Stream.of(OptionKey.EXCLUSIVE), PoolSettings.KEYS.stream())
                .toList();
    }

    @Override
    protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
        if (info.isReadOnly()) {
            return new Choice(null, () -> new DeviceMemory(device, info));
        }
        if (info.equals(device.pinnedMemory())) {
            return sharedUnlessExclusive(options, info, () -> new PinnedMemory(device, options));
        }
        return sharedUnlessExclusive(
                options,
                info,
                () -> DriverPool.create(device, PoolSettings.from(options), options.resolve(optionKeys())));
    }

    MemoryInfo device(int ordinal) {
        return discoverDevices().devices().get(ordinal).defaultMemory().orElseThrow();
    }

    MemoryInfo pinned(int ordinal) {
        return discoverDevices().devices().get(ordinal).hostAccessibleMemory().orElseThrow();
    }

    MemoryInfo readOnly(int ordinal) {
        return discoverDevices().devices().get(ordinal).readOnlyMemory().orElseThrow();
    }

    DriverPool pool(String... keysAndValues) {
        AllocatorOptions options = AllocatorOptions.EMPTY;
        for (int i = 0; i < keysAndValues.length; i += 2) {
            options = options.with(keysAndValues[i], keysAndValues[i + 1], "test");
        }
        return (DriverPool) createAllocator(device(0), options);
    }

    DeviceMemory raw() {
        return (DeviceMemory) createAllocator(readOnly(0), AllocatorOptions.EMPTY);
    }

    PinnedMemory pinned() {
        return (PinnedMemory) createAllocator(pinned(0), AllocatorOptions.EMPTY);
    }

    SyncStream stream() {
        return createSyncStream(device(0));
    }

    @Override
    public void close() {
        super.close();
        driver.close();
    }
}
