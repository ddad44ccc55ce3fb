package allocator.cuda.arena;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.PlacementPolicy;
import allocator.arena.StreamArenaAllocator;
import allocator.cuda.memory.CudaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.DeviceMemory;
import allocator.spi.AllocatorOptions;
import allocator.spi.SyncStream;
import java.util.List;

/** The arena of a device's memory. */
final class DeviceArena extends StreamArenaAllocator implements CudaAllocator {
    private final CudaDevice device;
    private final DeviceMemory upstream;
    private volatile boolean isClosed;

    /**
     * Creates the arena, on pages if the policy needs them.
     *
     * @param peers ordinals of other devices that get access to pages; to other memory they have it already
     */
    DeviceArena(CudaDevice device, ArenaConfig config, List<Integer> peers, AllocatorOptions effectiveOptions) {
        this(device, new DeviceMemory(device, device.defaultMemory()), config, peers, effectiveOptions);
    }

    private DeviceArena(
            CudaDevice device,
            DeviceMemory upstream,
            ArenaConfig config,
            List<Integer> peers,
            AllocatorOptions effectiveOptions) {
        super(
                config.placementPolicy() == PlacementPolicy.COMPACT
                        ? BfcArena.onPages(upstream, new DevicePages(device, upstream.info(), 0, peers), config)
                        : new BfcArena(upstream, config),
                effectiveOptions);
        this.device = device;
        this.upstream = upstream;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        if (!(stream instanceof CudaSyncStream cudaStream)
                || cudaStream.device().ordinal() != device.ordinal()) {
            throw new IllegalArgumentException(stream + " is not a stream of " + device);
        }
        requireOpen(cudaStream);
        cudaStream.usedBy(this);
        final long address = arena().allocOnStream(byteSize, cudaStream);
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

    /**
     * Takes back what was bound to a stream during its close. The end of the stream unbinds it, unless the stream has
     * ended already. Waits for neither: work of the stream may wait for this thread.
     */
    private void takeBack(long address, CudaSyncStream stream) {
        free(address);
        if (stream.hasEnded()) {
            releaseStream(stream);
        }
        requireOpen(stream);
    }

    @Override
    public boolean isClosed() {
        return isClosed;
    }

    @Override
    public void destroy() {
        try {
            if (!isClosed) {
                isClosed = true;
                close();
            }
        } finally {
            upstream.destroy(); // returns what the close failed to return as well
        }
    }

    @Override
    public String toString() {
        return "the arena of " + info();
    }
}
