package allocator.cuda.arena;

import allocator.arena.ArenaConfig;
import allocator.arena.BfcArena;
import allocator.arena.PlacementPolicy;
import allocator.arena.StreamArenaAllocator;
import allocator.arena.page.ReservePages;
import allocator.cuda.driver.CudaException;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.DeviceMemory;
import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The arena of a device's memory. */
final class DeviceArena extends StreamArenaAllocator implements StreamMemory {
    /** Small enough to map the next part while one is copied, large enough that the driver's calls cost little. */
    private static final long RESERVE_PART_BYTES = 16 << 20;

    private final CudaDevice device;
    private final DeviceMemory upstream;
    private final @Nullable DevicePages pages;

    /** The pages of reserves; {@code null} if reserves have none of their own. */
    private final @Nullable DevicePages pagesOfReserves;

    private volatile boolean isClosed;

    /**
     * Creates the arena, on pages if the policy needs them.
     *
     * @param hasPagedReserves whether reserves lie on pages of their own
     * @param peers ordinals of other devices that get access to pages; to other memory they have it already
     */
    DeviceArena(
            CudaDevice device,
            ArenaConfig config,
            boolean hasPagedReserves,
            List<Integer> peers,
            AllocatorOptions effectiveOptions) {
        final DeviceMemory memory = new DeviceMemory(device, device.defaultMemory());
        final DevicePages pagesOfArena = config.placementPolicy() == PlacementPolicy.COMPACT
                ? new DevicePages(device, memory.info(), 0, peers)
                : null;
        final DevicePages ofReserves = hasPagedReserves ? new DevicePages(device, memory.info(), 0, peers) : null;
        final Allocator regions = ofReserves == null
                ? memory
                : new ReservePages(memory, ofReserves, RESERVE_PART_BYTES, () -> await(memory));
        super(
                pagesOfArena == null ? new BfcArena(regions, config) : BfcArena.onPages(regions, pagesOfArena, config),
                effectiveOptions);
        this.device = device;
        upstream = memory;
        pages = pagesOfArena;
        pagesOfReserves = ofReserves;
    }

    private static void await(DeviceMemory memory) {
        try {
            memory.awaitDevice();
        } catch (CudaException e) {
            throw new DeviceException(String.valueOf(e.getMessage()), e);
        }
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
        final List<DevicePages> allPages =
                Stream.of(pages, pagesOfReserves).filter(Objects::nonNull).toList();
        allPages.forEach(each -> each.endMappingsAfter(upstream::awaitDevice));
        final Failures failures = new Failures();
        failures.run(this::close);
        if (pagesOfReserves != null) {
            failures.run(pagesOfReserves::close);
        }
        failures.run(upstream::destroy); // returns what the close failed to return as well
        try {
            failures.throwIfAny();
        } catch (DeviceException e) {
            final long keptPages =
                    allPages.stream().mapToLong(DevicePages::heldBytes).sum();
            throw keptPages == 0 ? e : upstream.notTakenBack(keptPages, e);
        }
    }

    @Override
    public String toString() {
        return "the arena of " + info();
    }
}
