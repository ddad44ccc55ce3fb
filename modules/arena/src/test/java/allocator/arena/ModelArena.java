package allocator.arena;

import allocator.arena.chunk.ChunkValue;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import allocator.testkit.FakeDevice;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A model of an arena in the simplest form: lists that are searched from end to end, sizes in bytes, one thread. Each
 * {@link ModelBug} breaks one rule, to prove that a comparison with the model detects it.
 */
@SuppressWarnings("ReferenceEquality") // a stream is one object
final class ModelArena {

    private static final long GRANULE = 256;

    private final FakeDevice device;
    private final ArenaConfig config;
    private final Set<ModelBug> bugs;
    private final List<ModelRegion> regions = new ArrayList<>();
    private final Map<Long, Long> reserves = new HashMap<>();
    private long nextRegion;
    private long peakInUse;
    private long peakHeld;
    private long maxAlloc;
    private long allocs;
    private long reservations;
    private long failed;
    private long shrinkages;

    ModelArena(FakeDevice device, ArenaConfig config, @Nullable ModelBug bug) {
        this.device = device;
        this.config = config;
        bugs = bug == null ? EnumSet.noneOf(ModelBug.class) : EnumSet.of(bug);
        nextRegion = roundUp(Math.min(limit(), config.initialChunkBytes()));
    }

    private boolean has(ModelBug bug) {
        return bugs.contains(bug);
    }

    private static long roundUp(long byteSize) {
        return (byteSize + GRANULE - 1) / GRANULE * GRANULE;
    }

    private long limit() {
        return config.maxMem() == 0 ? Long.MAX_VALUE : config.maxMem();
    }

    long alloc(long byteSize, @Nullable SyncStream stream) {
        if (byteSize == 0) {
            return 0;
        }
        final long rounded = roundUp(byteSize);
        Optional<ModelChunk> chunk = search(rounded, stream);
        if (chunk.isEmpty()) {
            extend(rounded);
            chunk = search(rounded, stream);
        }
        final ModelChunk taken = chunk.orElseThrow();
        split(taken, rounded);
        taken.isFree = false;
        taken.requested = byteSize;
        taken.owner = stream;
        taken.stamp = stream == null ? 0 : stream.syncId();
        count(taken.size());
        return taken.start;
    }

    private void count(long byteSize) {
        allocs++;
        maxAlloc = Math.max(maxAlloc, byteSize);
        peakInUse = Math.max(peakInUse, inUse());
        peakHeld = Math.max(peakHeld, held());
    }

    /** The best of all that is large enough: whole chunks, and the untouched ends of chunks that may not be used. */
    private Optional<ModelChunk> search(long rounded, @Nullable SyncStream stream) {
        final List<Fit> fits = new ArrayList<>();
        for (final ModelChunk chunk : chunks()) {
            if (chunk.isFree && mayUse(chunk, stream)) {
                fits.add(new Fit(chunk, chunk.start, chunk.size()));
            } else if (chunk.isFree && !has(ModelBug.LOSES_UNTOUCHED_ENDS)) {
                fits.add(new Fit(chunk, chunk.start, chunk.untouchedHead));
                fits.add(new Fit(chunk, chunk.end - chunk.untouchedTail, chunk.untouchedTail));
            }
        }
        final Comparator<Fit> bySize = Comparator.comparingLong(Fit::byteSize);
        final Comparator<Fit> byAddress = Comparator.comparingLong(Fit::start);
        return fits.stream()
                .filter(fit -> fit.byteSize >= rounded)
                .min(bySize.thenComparing(has(ModelBug.TAKES_THE_HIGHEST_ADDRESS) ? byAddress.reversed() : byAddress))
                .map(ModelArena::carve);
    }

    /**
     * Memory that would do.
     *
     * @param chunk the chunk in which it lies
     * @param start where it starts
     * @param byteSize its size
     */
    private record Fit(ModelChunk chunk, long start, long byteSize) {}

    private boolean mayUse(ModelChunk chunk, @Nullable SyncStream stream) {
        if (chunk.owner == null || chunk.owner == stream) {
            return true;
        }
        if (stream == null) {
            return false;
        }
        final long waited = stream.lastWaitedSyncId(chunk.owner);
        final boolean trustsTheEventBefore = has(ModelBug.TRUSTS_AN_EARLIER_EVENT) && waited > 0;
        return chunk.stamp < waited || (trustsTheEventBefore && chunk.stamp == waited);
    }

    /** Makes memory that would do a chunk of its own. */
    private static ModelChunk carve(Fit fit) {
        final ModelChunk chunk = fit.chunk;
        final SyncStream owner = chunk.owner;
        final long stamp = chunk.stamp;
        final long head = chunk.untouchedHead;
        final long tail = chunk.untouchedTail;
        if (fit.byteSize == chunk.size()) {
            return chunk;
        }
        if (fit.start == chunk.start) {
            cut(chunk, head).bind(owner, stamp, 0, tail);
            chunk.bind(null, 0, 0, 0);
            return chunk;
        }
        final ModelChunk right = cut(chunk, chunk.size() - tail);
        chunk.bind(owner, stamp, head, 0);
        return right;
    }

    private void split(ModelChunk chunk, long rounded) {
        final long spare = chunk.size() - rounded;
        final boolean byRequest = has(ModelBug.SPLITS_TOO_LATE) ? spare > rounded : spare >= rounded;
        final boolean byWaste = has(ModelBug.WASTES_ONE_GRANULE_MORE)
                ? spare > config.maxDeadBytesPerChunk()
                : spare >= config.maxDeadBytesPerChunk();
        if (byRequest || byWaste) {
            final SyncStream owner = chunk.owner;
            final long head = Math.max(0, chunk.untouchedHead - rounded);
            final ModelChunk rest = cut(chunk, rounded);
            rest.bind(owner, chunk.stamp, head, chunk.untouchedTail);
            mergeWithNext(rest);
        }
    }

    /** Cuts a chunk in two, {@code byteSize} after its start. */
    private static ModelChunk cut(ModelChunk chunk, long byteSize) {
        final ModelChunk right = new ModelChunk(chunk.region, chunk.start + byteSize, chunk.end);
        chunk.end = right.start;
        chunk.region.chunks.add(chunk.region.chunks.indexOf(chunk) + 1, right);
        return right;
    }

    private void extend(long rounded) {
        final long available = (limit() - countedHeld()) / GRANULE * GRANULE;
        if (rounded > available) {
            throw outOfMemory("Available memory of " + available + " is smaller than requested bytes of " + rounded
                    + " under arena.max_mem");
        }
        long size = rounded;
        if (config.extendStrategy() == ExtendStrategy.POWER_OF_TWO) {
            boolean isIncreased = false;
            while (rounded > nextRegion) {
                nextRegion = has(ModelBug.GROWS_TO_THE_REQUEST) ? rounded : nextRegion * 2;
                isIncreased = true;
            }
            size = Math.min(nextRegion, available);
            if (!isIncreased || has(ModelBug.DOUBLES_AT_ONCE)) {
                nextRegion = Math.min(nextRegion * 2, config.maxPowerOfTwoExtendBytes());
            }
        }
        while (true) {
            try {
                final long base = device.alloc(size);
                regions.add(new ModelRegion(base, size, regions.isEmpty()));
                return;
            } catch (OutOfMemoryException e) {
                final long less = roundUp((long) (size * 0.9f));
                final boolean isLast = size == rounded || has(ModelBug.NEVER_BACKS_OFF);
                size = less < rounded || less < 8192 ? rounded : less;
                if (isLast) {
                    throw outOfMemory("Failed to allocate memory for requested buffer of size " + rounded);
                }
            }
        }
    }

    private OutOfMemoryException outOfMemory(String reason) {
        failed += has(ModelBug.FORGETS_FAILURES) ? 0 : 1;
        return new OutOfMemoryException(
                reason, OutOfMemoryException.Shortage.ofDevice(FakeDevice.INFO, 0, OutOfMemoryException.UNKNOWN));
    }

    long reserve(long byteSize) {
        if (byteSize == 0) {
            return 0;
        }
        final long available = limit() - countedHeld();
        if (byteSize > available) {
            throw outOfMemory("Available memory of " + available + " is smaller than requested bytes of " + byteSize
                    + " under arena.max_mem");
        }
        final long address;
        try {
            address = device.alloc(byteSize);
        } catch (OutOfMemoryException e) {
            throw outOfMemory("Failed to allocate memory for requested buffer of size " + byteSize);
        }
        reserves.put(address, byteSize);
        reservations++;
        count(byteSize);
        return address;
    }

    void free(long address) {
        if (reserves.remove(address) != null) {
            device.free(address);
            return;
        }
        final ModelChunk chunk = chunks().stream()
                .filter(candidate -> candidate.start == address && !candidate.isFree)
                .findFirst()
                .orElseThrow();
        chunk.isFree = true;
        chunk.requested = 0;
        final long stampAtFree = chunk.owner == null ? 0 : chunk.owner.syncId();
        chunk.bind(chunk.owner, has(ModelBug.STAMPS_WHEN_TAKING) ? chunk.stamp : stampAtFree, 0, 0);
        coalesce(chunk);
    }

    private void coalesce(ModelChunk chunk) {
        mergeWithNext(chunk);
        final int index = chunk.region.chunks.indexOf(chunk);
        if (index > 0 && !has(ModelBug.FORGETS_THE_PREVIOUS_NEIGHBOUR)) {
            final ModelChunk previous = chunk.region.chunks.get(index - 1);
            if (previous.isFree) {
                mergeWithNext(previous);
            }
        }
    }

    private void mergeWithNext(ModelChunk left) {
        final List<ModelChunk> chunks = left.region.chunks;
        final int index = chunks.indexOf(left);
        if (index + 1 == chunks.size()) {
            return;
        }
        final ModelChunk right = chunks.get(index + 1);
        final boolean isUnbound = left.owner == null || right.owner == null;
        final boolean mayMerge =
                left.owner == right.owner || (isUnbound && !has(ModelBug.SEPARATES_UNBOUND_NEIGHBOURS));
        if (!right.isFree || !mayMerge) {
            return;
        }
        final SyncStream owner = left.owner == null ? right.owner : left.owner;
        final long head = left.owner == null ? left.size() + right.untouchedHead : left.untouchedHead;
        final long tail = right.owner == null ? right.size() + left.untouchedTail : right.untouchedTail;
        final long stamp = has(ModelBug.TAKES_THE_LOWER_STAMP)
                ? Math.min(left.stamp, right.stamp)
                : Math.max(left.stamp, right.stamp);
        chunks.remove(right);
        left.end = right.end;
        left.bind(owner, stamp, head, tail);
    }

    void release(SyncStream stream) {
        if (!has(ModelBug.RELEASE_FORGETS_WHAT_IS_IN_USE)) {
            unbindInUse(stream);
        }
        unbindFree(stream);
    }

    void endRun(SyncStream stream) {
        if (has(ModelBug.RUN_END_UNBINDS_WHAT_IS_IN_USE)) {
            unbindInUse(stream);
        }
        unbindFree(stream);
    }

    private void unbindInUse(SyncStream stream) {
        for (final ModelChunk chunk : chunks()) {
            if (chunk.owner == stream && !chunk.isFree) {
                chunk.owner = null;
            }
        }
    }

    private void unbindFree(SyncStream stream) {
        Optional<ModelChunk> bound = smallestOf(stream);
        while (bound.isPresent()) {
            bound.get().bind(null, 0, 0, 0);
            coalesce(bound.get());
            bound = smallestOf(stream);
        }
    }

    private Optional<ModelChunk> smallestOf(SyncStream stream) {
        return chunks().stream()
                .filter(chunk -> chunk.isFree && chunk.owner == stream)
                .min(Comparator.comparingLong(ModelChunk::size).thenComparingLong(chunk -> chunk.start));
    }

    void shrink() {
        final boolean keepsFirst = config.keepFirstRegion()
                && config.extendStrategy() == ExtendStrategy.POWER_OF_TWO
                && !has(ModelBug.SHRINK_RETURNS_THE_FIRST_REGION);
        for (final ModelRegion region : List.copyOf(regions)) {
            if (region.isIdle() && !(region.isFirst && keepsFirst)) {
                regions.remove(region);
                device.free(region.base);
                shrinkages++;
            }
        }
        if (!has(ModelBug.SHRINK_KEEPS_GROWTH)) {
            nextRegion = config.initialGrowthChunkBytes();
        }
    }

    private List<ModelChunk> chunks() {
        return regions.stream()
                .sorted(Comparator.comparingLong(region -> region.base))
                .flatMap(region -> region.chunks.stream())
                .toList();
    }

    private long inUse() {
        return reserved()
                + chunks().stream()
                        .filter(chunk -> !chunk.isFree)
                        .mapToLong(ModelChunk::size)
                        .sum();
    }

    private long reserved() {
        return reserves.values().stream().mapToLong(Long::longValue).sum();
    }

    private long held() {
        return reserved()
                + regions.stream().mapToLong(region -> region.byteSize).sum();
    }

    private long countedHeld() {
        return has(ModelBug.LIMIT_IGNORES_RESERVES) ? held() - reserved() : held();
    }

    AllocatorStats stats() {
        final long requested =
                chunks().stream().mapToLong(chunk -> chunk.requested).sum();
        final long largest = chunks().stream()
                .filter(chunk -> chunk.isFree)
                .mapToLong(ModelChunk::size)
                .max()
                .orElse(0);
        return new AllocatorStats.Builder()
                .limit(config.maxMem() == 0 ? AllocatorStats.UNLIMITED : config.maxMem())
                .inUse(inUse(), requested + reserved(), peakInUse)
                .held(held(), peakHeld)
                .free(held() - inUse(), largest)
                .calls(allocs, reservations, failed, maxAlloc)
                .regions(regions.size(), shrinkages)
                .build();
    }

    /** Returns all chunks in order of address. */
    List<ChunkValue> snapshot() {
        return chunks().stream()
                .map(chunk -> new ChunkValue(
                        chunk.start,
                        chunk.size(),
                        chunk.isFree,
                        chunk.requested,
                        chunk.owner == null ? 0 : chunk.owner.id(),
                        chunk.isFree ? chunk.stamp : 0,
                        chunk.isFree ? chunk.untouchedHead : 0,
                        chunk.isFree ? chunk.untouchedTail : 0))
                .toList();
    }
}
