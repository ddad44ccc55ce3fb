package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import allocator.cuda.simulated.device.PoolSegment.Tile;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A memory pool that follows the rules of the driver.
 *
 * <p>A pool holds <em>segments</em> of device memory, each divided into <em>tiles</em> without gaps. An allocation is
 * served, in this order, (1) from tiles that its stream may use now, (2) from a new segment, (3) from tiles that its
 * stream may use once it waits for another stream; the smallest fit wins ({@link FreeTiles}). A synchronization returns
 * wholly free segments to the device until at most the release threshold is reserved.
 *
 * <p>{@code sum of segment sizes == reserved}.
 */
final class MemoryPool {
    /** What a pool of a real device takes for a small allocation. */
    private static final long SEGMENT_GRANULARITY = 32L << 20;

    final long handle;

    /** The access of other devices. */
    final Map<Device, MemoryAccess> access = new HashMap<>();

    private final Device device;
    private final TreeMap<Long, PoolSegment> segments = new TreeMap<>();
    private final FreeTiles free = new FreeTiles();
    private boolean followsEvents = true;
    private boolean isOpportunistic = true;
    private boolean addsDependencies = true;
    private long releaseThreshold;
    private long reserved;
    private long reservedHigh;
    private long used;
    private long usedHigh;
    private boolean isDestroyed;

    MemoryPool(long handle, Device device) {
        this.handle = handle;
        this.device = device;
    }

    /**
     * Allocates memory, ordered on a stream.
     *
     * @param addDependency called with each free that the stream must wait for
     */
    Tile allocate(long requestedSize, StreamQueue stream, BiConsumer<StreamQueue, Long> addDependency) {
        final long byteSize = Sizes.roundRequest(requestedSize, Sizes.POOL_ALIGNMENT);
        free.notice();
        List<Tile> run = free.best(byteSize, tile -> mayUse(tile, stream));
        if (run.isEmpty() && grow(byteSize)) {
            run = free.best(byteSize, tile -> mayUse(tile, stream));
        }
        if (run.isEmpty() && addsDependencies) {
            run = free.best(byteSize, tile -> true);
        }
        if (run.isEmpty()) {
            throw new CallFailure(CudaResult.OUT_OF_MEMORY);
        }
        for (Tile tile : run) {
            if (tile.freedOn != null && !mayUse(tile, stream)) {
                addDependency.accept(tile.freedOn, tile.freedAt);
            }
        }
        used += byteSize;
        usedHigh = Math.max(usedHigh, used);
        return take(run, byteSize);
    }

    private boolean mayUse(Tile tile, StreamQueue stream) {
        final StreamQueue freedOn = tile.freedOn;
        return freedOn == null
                || freedOn == stream
                || (isOpportunistic && freedOn.hasDone(tile.freedAt))
                || (followsEvents && stream.isOrderedAfter(freedOn, tile.freedAt));
    }

    /** Makes adjacent free tiles an allocated one of a size, and what is left of the last one a free one. */
    private Tile take(List<Tile> run, long byteSize) {
        final Tile first = run.getFirst();
        final Tile last = run.getLast();
        final PoolSegment segment = first.segment;
        final long restAddress = first.address + byteSize;
        run.forEach(free::remove);
        run.forEach(tile -> segment.tiles.remove(tile.address));
        final Tile taken = new Tile(segment, first.address, byteSize);
        segment.tiles.put(taken.address, taken);
        if (restAddress < last.end()) {
            final Tile rest = last.rest(restAddress);
            segment.tiles.put(restAddress, rest);
            free.add(rest);
        }
        return taken;
    }

    /** Frees a tile, ordered on a stream at a position; at once if there is none. */
    void free(Tile tile, @Nullable StreamQueue stream, long position) {
        tile.isFree = true;
        tile.freedOn = stream;
        tile.freedAt = position;
        free.add(tile);
    }

    private boolean grow(long byteSize) {
        return addSegment(Sizes.roundUp(byteSize, SEGMENT_GRANULARITY))
                || addSegment(Sizes.roundUp(byteSize, Sizes.PHYSICAL_GRANULARITY))
                || (releaseDownTo(0) && addSegment(Sizes.roundUp(byteSize, Sizes.PHYSICAL_GRANULARITY)));
    }

    private boolean addSegment(long byteSize) {
        if (byteSize > device.freeByteSize()) {
            return false;
        }
        final long address = device.addresses.take(byteSize, Sizes.PHYSICAL_GRANULARITY);
        device.takeMemory(byteSize);
        final PoolSegment segment = new PoolSegment(this, address, byteSize, device.newContents(byteSize));
        final Tile tile = new Tile(segment, address, byteSize);
        segments.put(address, segment);
        segment.tiles.put(address, tile);
        free(tile, null, 0);
        reserved += byteSize;
        reservedHigh = Math.max(reservedHigh, reserved);
        return true;
    }

    /** A free has taken effect. */
    void freeHasTakenEffect(long byteSize) {
        used -= byteSize;
        if (isDestroyed) {
            synchronize();
        }
    }

    /** The host has synchronized with this device. */
    void synchronize() {
        free.settle();
        releaseDownTo(isDestroyed ? 0 : unsigned(releaseThreshold));
    }

    /** Returns unused segments to the device until at most this is reserved; returns whether there were any. */
    boolean releaseDownTo(long minBytesToKeep) {
        boolean hasReleased = false;
        for (Tile tile : reserved > minBytesToKeep ? free.unused() : List.<Tile>of()) {
            if (reserved <= minBytesToKeep) {
                break;
            }
            release(tile);
            hasReleased = true;
        }
        return hasReleased;
    }

    /** Returns what is unused to the device, in pieces of a granule, as long as at least this stays reserved. */
    void trimTo(long minBytesToKeep) {
        for (Tile tile : free.unused()) {
            final long excess = (reserved - minBytesToKeep) / SEGMENT_GRANULARITY * SEGMENT_GRANULARITY;
            if (reserved - tile.byteSize >= minBytesToKeep) {
                release(tile);
            } else if (excess > 0) {
                release(tile);
                addSegment(tile.byteSize - excess);
            }
        }
    }

    private void release(Tile segment) {
        free.remove(segment);
        segments.remove(segment.address);
        reserved -= segment.byteSize;
        device.returnMemory(segment.byteSize);
        device.addresses.giveBack(segment.address, segment.byteSize);
    }

    void destroy() {
        isDestroyed = true;
        synchronize();
    }

    boolean holds(long address) {
        final Map.Entry<Long, PoolSegment> before = segments.floorEntry(address);
        return before != null && address - before.getKey() < before.getValue().byteSize;
    }

    long get(PoolAttribute attribute) {
        return switch (attribute) {
            case REUSE_FOLLOW_EVENT_DEPENDENCIES -> followsEvents ? 1 : 0;
            case REUSE_ALLOW_OPPORTUNISTIC -> isOpportunistic ? 1 : 0;
            case REUSE_ALLOW_INTERNAL_DEPENDENCIES -> addsDependencies ? 1 : 0;
            case RELEASE_THRESHOLD -> releaseThreshold;
            case RESERVED_MEM_CURRENT -> reserved;
            case RESERVED_MEM_HIGH -> reservedHigh;
            case USED_MEM_CURRENT -> used;
            case USED_MEM_HIGH -> usedHigh;
        };
    }

    void set(PoolAttribute attribute, long value) {
        switch (attribute) {
            case REUSE_FOLLOW_EVENT_DEPENDENCIES -> followsEvents = value != 0;
            case REUSE_ALLOW_OPPORTUNISTIC -> isOpportunistic = value != 0;
            case REUSE_ALLOW_INTERNAL_DEPENDENCIES -> addsDependencies = value != 0;
            case RELEASE_THRESHOLD -> releaseThreshold = value;
            case RESERVED_MEM_HIGH -> {
                requireZero(value);
                reservedHigh = reserved;
            }
            case USED_MEM_HIGH -> {
                requireZero(value);
                usedHigh = used;
            }
            case RESERVED_MEM_CURRENT, USED_MEM_CURRENT -> throw new CallFailure(CudaResult.INVALID_VALUE);
        }
    }

    private static long unsigned(long byteSize) {
        return byteSize < 0 ? Long.MAX_VALUE : byteSize;
    }

    private static void requireZero(long value) {
        if (value != 0) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
    }
}
