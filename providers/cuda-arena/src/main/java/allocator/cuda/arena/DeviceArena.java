package allocator.cuda.arena;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.cuda.memory.CudaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.DeviceMemory;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/** The arena of a device's memory. */
final class DeviceArena implements CudaAllocator, StreamAwareAllocator, ShrinkableAllocator {
    private final CudaDevice device;
    private final DeviceMemory upstream;
    private final BfcArena arena;
    private final AllocatorOptions effectiveOptions;

    DeviceArena(CudaDevice device, ArenaConfig config, AllocatorOptions effectiveOptions) {
        this.device = device;
        this.effectiveOptions = effectiveOptions;
        upstream = new DeviceMemory(device, device.defaultMemory());
        arena = new BfcArena(upstream, config);
    }

    @Override
    public long alloc(long byteSize) {
        return arena.alloc(byteSize);
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        if (!(stream instanceof CudaSyncStream cudaStream)
                || cudaStream.device().ordinal() != device.ordinal()) {
            throw new IllegalArgumentException(stream + " is not a stream of " + device);
        }
        requireOpen(cudaStream);
        final long address = arena.allocOnStream(byteSize, cudaStream);
        if (cudaStream.isClosed()) {
            takeBack(address, cudaStream);
        }
        return address;
    }

    private static void requireOpen(CudaSyncStream stream) {
        if (stream.isClosed()) {
            throw new IllegalStateException(stream + " is closed");
        }
    }

    /** The stream was closed meanwhile, and perhaps untied before the memory was tied to it. */
    private void takeBack(long address, CudaSyncStream stream) {
        arena.free(address);
        if (stream.awaitEnd()) {
            arena.releaseStream(stream);
        }
        requireOpen(stream);
    }

    @Override
    public void free(long address) {
        arena.free(address);
    }

    @Override
    public long reserve(long byteSize) {
        return arena.reserve(byteSize);
    }

    @Override
    public void endRun(SyncStream stream) {
        arena.endRun(stream);
    }

    @Override
    public void releaseStream(SyncStream stream) {
        arena.releaseStream(stream);
    }

    @Override
    public ShrinkReport shrink() {
        return arena.shrink();
    }

    @Override
    public AllocatorStats stats() {
        return arena.stats();
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    @Override
    public MemoryInfo info() {
        return arena.info();
    }

    @Override
    public int spiLevel() {
        return SpiLevel.SHRINK;
    }

    @Override
    public void destroy() {
        try {
            arena.close();
        } finally {
            upstream.destroy();
        }
    }

    @Override
    public String toString() {
        return "the arena of " + info();
    }
}
