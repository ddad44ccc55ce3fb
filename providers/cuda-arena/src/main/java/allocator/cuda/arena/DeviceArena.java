package allocator.cuda.arena;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.PlacementPolicy;
import allocator.arena.StreamArenaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.DeviceMemory;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The arena of a device's memory. */
final class DeviceArena extends StreamArenaAllocator implements StreamMemory {
    private final CudaDevice device;
    private final DeviceMemory upstream;
    private final @Nullable DevicePages pages;
    private volatile boolean isClosed;

    /**
     * Creates the arena, on pages if the policy needs them.
     *
     * @param peers ordinals of other devices that get access to pages; to other memory they have it already
     */
    DeviceArena(CudaDevice device, ArenaConfig config, List<Integer> peers, AllocatorOptions effectiveOptions) {
        final DeviceMemory memory = new DeviceMemory(device, device.defaultMemory());
        final DevicePages pagesOfArena = config.placementPolicy() == PlacementPolicy.COMPACT
                ? new DevicePages(device, memory.info(), 0, peers)
                : null;
        super(
                pagesOfArena == null ? new BfcArena(memory, config) : BfcArena.onPages(memory, pagesOfArena, config),
                effectiveOptions);
        this.device = device;
        upstream = memory;
        pages = pagesOfArena;
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        final CudaSyncStream used = use(stream, device);
        return requireStillOpen(used, arena().allocOnStream(byteSize, used));
    }

    @Override
    public boolean isClosed() {
        return isClosed;
    }

    @Override
    public void destroy() {
        isClosed = true;
        if (pages != null) {
            pages.endMappingsAfter(upstream::awaitDevice);
        }
        final Failures failures = new Failures();
        failures.run(this::close);
        failures.run(upstream::destroy); // returns what the close failed to return as well
        try {
            failures.throwIfAny();
        } catch (DeviceException e) {
            final long keptPages = pages == null ? 0 : pages.heldBytes();
            throw keptPages == 0 ? e : upstream.notTakenBack(keptPages, e);
        }
    }

    @Override
    public String toString() {
        return "the arena of " + info();
    }
}
