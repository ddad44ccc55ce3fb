package allocator.trace;

import java.util.ArrayList;
import java.util.List;

/**
 * ONNX Runtime's arena in the plainest form: lists that are walked from end to end. It shares nothing with the arena
 * under test but the rules, and counts what a replay reports.
 */
final class ArenaModel {
    private static final long GRANULE = 256;

    /** A piece of a region. */
    private static final class Chunk {
        private long byteSize;
        private boolean isFree = true;

        private Chunk(long byteSize) {
            this.byteSize = byteSize;
        }
    }

    /** Where a block is. */
    private record Place(List<Chunk> region, Chunk chunk) {}

    private final boolean isPowerOfTwo;
    private final long maxMem;
    private final long maxDeadBytes;
    private final long maxExtend;

    /** Each region's chunks in order of address; the regions in order of extension. */
    private final List<List<Chunk>> regions = new ArrayList<>();

    private long nextRegionBytes;

    long requested;
    long peakRequested;
    long inUse;
    long peakInUse;
    long held;
    long peakHeld;
    long maxAllocSize;
    int failed;
    int live;
    int shrinkages;

    ArenaModel(boolean isPowerOfTwo, long initial, long maxMem, long maxDeadBytes, long maxExtend) {
        this.isPowerOfTwo = isPowerOfTwo;
        this.maxMem = maxMem;
        this.maxDeadBytes = roundUp(maxDeadBytes);
        this.maxExtend = roundUp(maxExtend);
        nextRegionBytes = roundUp(Math.min(maxMem, initial));
    }

    void replay(Trace trace) {
        final Place[] places = new Place[trace.slotCount()];
        for (int event = 0; event < trace.eventCount(); event++) {
            final int slot = trace.slot(event);
            final long byteSize = trace.byteSize(event);
            if (trace.isAllocation(event)) {
                places[slot] = alloc(byteSize);
                if (places[slot] == null) {
                    failed++;
                } else {
                    live++;
                    requested += byteSize;
                    peakRequested = Math.max(peakRequested, requested);
                }
            } else if (places[slot] != null) {
                free(places[slot]);
                live--;
                requested -= byteSize;
            }
        }
    }

    int regionCount() {
        return regions.size();
    }

    private static long roundUp(long byteSize) {
        return (byteSize + GRANULE - 1) / GRANULE * GRANULE;
    }

    private Place alloc(long byteSize) {
        final long rounded = roundUp(byteSize);
        Place best = bestFit(rounded);
        if (best == null) {
            if (!extend(rounded)) {
                return null;
            }
            best = bestFit(rounded);
        }
        final Chunk chunk = best.chunk;
        maxAllocSize = Math.max(maxAllocSize, split(best, rounded));
        chunk.isFree = false;
        inUse += chunk.byteSize;
        peakInUse = Math.max(peakInUse, inUse);
        return best;
    }

    /** The smallest free chunk that is large enough, the one of the lowest address among equals. */
    private Place bestFit(long rounded) {
        Place best = null;
        for (final List<Chunk> region : regions) {
            for (final Chunk chunk : region) {
                if (chunk.isFree
                        && chunk.byteSize >= rounded
                        && (best == null || chunk.byteSize < best.chunk.byteSize)) {
                    best = new Place(region, chunk);
                }
            }
        }
        return best;
    }

    private long split(Place place, long rounded) {
        final long rest = place.chunk.byteSize - rounded;
        if (place.chunk.byteSize >= 2 * rounded || rest >= maxDeadBytes) {
            place.chunk.byteSize = rounded;
            if (rest > 0) {
                place.region.add(place.region.indexOf(place.chunk) + 1, new Chunk(rest));
            }
        }
        return place.chunk.byteSize;
    }

    private boolean extend(long rounded) {
        final long available = (maxMem - held) / GRANULE * GRANULE;
        if (rounded > available) {
            return false;
        }
        long ask = rounded;
        if (isPowerOfTwo) {
            boolean hasGrown = false;
            while (rounded > nextRegionBytes) {
                nextRegionBytes *= 2;
                hasGrown = true;
            }
            ask = Math.min(nextRegionBytes, available);
            if (!hasGrown) {
                nextRegionBytes = Math.min(2 * nextRegionBytes, maxExtend);
            }
        }
        final List<Chunk> region = new ArrayList<>();
        region.add(new Chunk(ask));
        regions.add(region);
        held += ask;
        peakHeld = Math.max(peakHeld, held);
        return true;
    }

    private void free(Place place) {
        final List<Chunk> region = place.region;
        final Chunk chunk = place.chunk;
        chunk.isFree = true;
        inUse -= chunk.byteSize;
        final int at = region.indexOf(chunk);
        if (at + 1 < region.size() && region.get(at + 1).isFree) {
            chunk.byteSize += region.remove(at + 1).byteSize;
        }
        if (at > 0 && region.get(at - 1).isFree) {
            region.get(at - 1).byteSize += chunk.byteSize;
            region.remove(at);
        }
    }

    /** Shrinks, once everything is freed: by the power-of-two rule the first region stays. */
    void shrinkAll() {
        while (regions.size() > (isPowerOfTwo ? 1 : 0)) {
            held -= regions.removeLast().stream()
                    .mapToLong(chunk -> chunk.byteSize)
                    .sum();
            shrinkages++;
        }
    }
}
