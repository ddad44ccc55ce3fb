package com.example.gpu;

import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaEpFactory;
import allocator.cuda.memory.DeviceMemory;
import allocator.cuda.memory.DriverPool;
import allocator.cuda.memory.PinnedMemory;
import allocator.cuda.memory.PoolSettings;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import java.util.List;
import java.util.stream.Stream;

/** A vendor's pool on a simulated device of its own. */
public final class VendorGpuFactory extends CudaEpFactory {
    private static final List<OptionKey<?>> KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE), PoolSettings.KEYS.stream())
            .toList();

    private final SimulatedCudaDriver driver;

    /** Made by the service loader. */
    public VendorGpuFactory() {
        this(SimulatedCudaDriver.builder().withMemory(256 << 20).build());
    }

    private VendorGpuFactory(SimulatedCudaDriver driver) {
        super(() -> new CudaAvailability.Available(driver));
        this.driver = driver;
    }

    @Override
    public String name() {
        return "vendor-gpu";
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
        final PoolSettings settings = PoolSettings.from(options);
        return sharedUnlessExclusive(
                options, info, () -> DriverPool.create(device, settings, options.resolve(KEYS)));
    }

    /** Throws if anything of the device is not given back. */
    @Override
    public void close() {
        super.close();
        driver.close();
    }
}
