package allocator.cuda.arena;

import allocator.arena.ArenaOptions;
import allocator.arena.bump.BumpAllocator;
import allocator.arena.bump.BumpConfig;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.DeviceMemory;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncStream;

/** Bump allocation of a device's memory, for {@code arena.kind=bump}. */
final class DeviceBumpArena extends BumpAllocator implements StreamMemory {
    private final CudaDevice device;
    private final DeviceMemory upstream;
    private volatile boolean isClosed;

    DeviceBumpArena(CudaDevice device, AllocatorOptions options, AllocatorOptions effectiveOptions) {
        final DeviceMemory memory = new DeviceMemory(device, device.defaultMemory());
        super(memory, BumpConfig.from(options), options.get(ArenaOptions.MAX_MEM), effectiveOptions);
        this.device = device;
        upstream = memory;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        final CudaSyncStream used = use(stream, device);
        return requireStillOpen(used, super.allocOnStream(byteSize, used));
    }

    @Override
    public boolean isClosed() {
        return isClosed;
    }

    @Override
    public void destroy() {
        isClosed = true;
        final Failures failures = new Failures();
        failures.run(this::close);
        failures.run(upstream::destroy); // returns what the close failed to return as well
        failures.throwIfAny();
    }
}
