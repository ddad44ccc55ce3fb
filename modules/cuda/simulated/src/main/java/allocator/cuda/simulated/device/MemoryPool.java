package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaResult;
import allocator.cuda.driver.MemoryAccess;
import allocator.cuda.driver.PoolAttribute;
import allocator.cuda.simulated.device.PoolSegment.Tile;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A memory pool that follows the rules of the driver.
 *
 * <p>A pool holds <em>segments</em> of device memory, each divided into <em>tiles</em> without gaps. An allocation is
 * served, in this order, (1) from tiles that its stream may use now, (2) from a new segment, (3) from tiles that its
 * stream may use once it waits for another stream; the smallest fit wins. A synchronization returns wholly free
 * segments to the device until at most the release threshold is reserved.
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
    private final List<PoolSegment> segments = new ArrayList<>();
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
        List<Tile> run = bestRun(byteSize, tile -> mayUse(tile, stream));
        if (run == null && grow(byteSize)) {
            run = bestRun(byteSize, tile -> mayUse(tile, stream));
        }
        if (run == null && addsDependencies) {
            run = bestRun(byteSize, tile -> tile.isFree);
        }
        if (run == null) {
            throw new CallFailure(CudaResult.OUT_OF_MEMORY);
        }
        for (Tile tile : run) {
            if (tile.freedOn != null && !mayUse(tile, stream)) {
                addDependency.accept(tile.freedOn, tile.freedAt);
            }
        }
        used += byteSize;
        usedHigh = Math.max(usedHigh, used);
        return join(run, byteSize);
    }

    private boolean mayUse(Tile tile, StreamQueue stream) {
        if (!tile.isFree) {
            return false;
        }
        final StreamQueue freedOn = tile.freedOn;
        return freedOn == null
                || freedOn == stream
                || (isOpportunistic && freedOn.hasDone(tile.freedAt))
                || (followsEvents && stream.isOrderedAfter(freedOn, tile.freedAt));
    }

    /** Returns the leading tiles of the smallest run of adjacent usable tiles that has the size, or null. */
    private @Nullable List<Tile> bestRun(long byteSize, Predicate<Tile> isUsable) {
        List<Tile> best = null;
        long bestSize = Long.MAX_VALUE;
        for (PoolSegment segment : segments) {
            List<Tile> run = new ArrayList<>();
            long runSize = 0;
            for (Tile tile : segment.tiles.values()) {
                if (!isUsable.test(tile)) {
                    run = new ArrayList<>();
                    runSize = 0;
                    continue;
                }
                if (runSize < byteSize) {
                    run.add(tile);
                }
                runSize += tile.byteSize;
                final boolean isRunOver = !isUsableAfter(tile, isUsable);
                if (isRunOver && runSize >= byteSize && runSize < bestSize) {
                    best = run;
                    bestSize = runSize;
                }
            }
        }
        return best;
    }

    private static boolean isUsableAfter(Tile tile, Predicate<Tile> isUsable) {
        final Tile next = tile.segment.tiles.get(tile.address + tile.byteSize);
        return next != null && isUsable.test(next);
    }

    private static Tile join(List<Tile> run, long byteSize) {
        final Tile first = run.getFirst();
        final Tile last = run.getLast();
        final long end = last.address + last.byteSize;
        for (Tile tile : run) {
            first.segment.tiles.remove(tile.address);
        }
        final long restAddress = first.address + byteSize;
        if (restAddress < end) {
            final Tile rest = new Tile(first.segment, restAddress, end - restAddress);
            rest.freedOn = last.freedOn;
            rest.freedAt = last.freedAt;
            first.segment.tiles.put(restAddress, rest);
        }
        final Tile joined = new Tile(first.segment, first.address, byteSize);
        joined.isFree = false;
        first.segment.tiles.put(first.address, joined);
        return joined;
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
        segments.add(new PoolSegment(this, address, byteSize, device.newContents(byteSize)));
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
        segments.forEach(PoolSegment::settle);
        releaseDownTo(isDestroyed ? 0 : unsigned(releaseThreshold));
    }

    /** Returns unused segments to the device until at most this is reserved; returns whether there were any. */
    boolean releaseDownTo(long minBytesToKeep) {
        boolean hasReleased = false;
        for (Iterator<PoolSegment> all = segments.iterator(); all.hasNext() && reserved > minBytesToKeep; ) {
            final PoolSegment segment = all.next();
            if (segment.isUnused()) {
                all.remove();
                reserved -= segment.byteSize;
                device.returnMemory(segment.byteSize);
                device.addresses.giveBack(segment.address, segment.byteSize);
                hasReleased = true;
            }
        }
        return hasReleased;
    }

    void destroy() {
        isDestroyed = true;
        synchronize();
    }

    boolean holds(long address) {
        return segments.stream()
                .anyMatch(segment -> address >= segment.address && address < segment.address + segment.byteSize);
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
