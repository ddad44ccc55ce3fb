package allocator.bench.scale;

import allocator.arena.ArenaConfig;
import allocator.arena.ArenaOptions;
import allocator.arena.BfcArena;
import allocator.arena.StreamArenaAllocator;
import allocator.cuda.driver.CudaAvailability;
import allocator.cuda.memory.CudaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaEpFactory;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.DeviceMemory;
import allocator.cuda.memory.PinnedMemory;
import allocator.cuda.simulated.SimulatedCudaDriver;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.util.List;

/**
 * A provider of a simulated CUDA device, which shares its allocators as {@code cuda-arena} does: all sessions use one
 * arena, and each has an allocator of read-only memory of its own. The device is seldom called, as the simulation's own
 * calls take longer the more streams there are.
 */
final class SimulatedArenas extends CudaEpFactory {
    SimulatedArenas(SimulatedCudaDriver driver) {
        super(() -> new CudaAvailability.Available(driver));
    }

    private static final class DeviceArena extends StreamArenaAllocator implements CudaAllocator {
        private final DeviceMemory upstream;

        DeviceArena(DeviceMemory upstream, AllocatorOptions options) {
            super(new BfcArena(upstream, ArenaConfig.from(options)), options.resolve(ArenaOptions.KEYS));
            this.upstream = upstream;
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            ((CudaSyncStream) stream).usedBy(this);
            return super.allocOnStream(byteSize, stream);
        }

        @Override
        public void destroy() {
            close();
            upstream.destroy();
        }
    }

    @Override
    public String name() {
        return "simulated-arenas";
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return ArenaOptions.KEYS;
    }

    @Override
    protected Choice choose(CudaDevice device, MemoryInfo info, AllocatorOptions options) {
        if (info.equals(device.readOnlyMemory())) {
            return new Choice(null, () -> new DeviceMemory(device, info));
        }
        if (info.equals(device.pinnedMemory())) {
            return new Choice("pinned", () -> new PinnedMemory(device));
        }
        return new Choice("arena", () -> new DeviceArena(new DeviceMemory(device, info), options));
    }
}
