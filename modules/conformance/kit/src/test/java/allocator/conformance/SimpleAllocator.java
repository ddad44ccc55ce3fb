package allocator.conformance;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * First fit over regions: slow, obvious and right, but for the one fault that it is made with. A free chunk that a
 * stream used is tied to it, with the stream's sync id when it was freed.
 */
class SimpleAllocator implements StreamAwareAllocator, ShrinkableAllocator {
    private static final long GRANULE = 256;
    private static final long LARGE = 1 << 20;

    /** Memory of one device allocation, in a row; {@code tie} is the stream whose work may still use a free chunk. */
    private static final class Chunk {
        final long region;
        final long address;
        long byteSize;
        boolean isLive;
        long requested;

        @Nullable
        SyncStream user;

        @Nullable
        SyncStream tie;

        long stamp;
        Thread owner = Thread.currentThread();

        Chunk(long region, long address, long byteSize) {
            this.region = region;
            this.address = address;
            this.byteSize = byteSize;
        }
    }

    /** What the device gave. */
    private record Region(long base, long address, long byteSize, boolean isReserve) {}

    private final SimpleFactory factory;
    private final SimpleDevice device;
    private final MemoryInfo info;
    private final AllocatorOptions options;
    private final Fault fault;
    private final long limit;
    private final NavigableMap<Long, Chunk> chunks = new TreeMap<>();
    private final Map<Long, Region> regions = new TreeMap<>();
    private final Map<Long, Long> freedOnce = new TreeMap<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final ReentrantLock other = new ReentrantLock();
    private final AtomicBoolean spin = new AtomicBoolean();
    private boolean isClosed;
    private boolean isBroken;
    long inUse;
    long requestedInUse;
    private long held;
    private long peakInUse;
    private long peakHeld;
    private long maxAlloc;
    private long allocs;
    private long reserves;
    private long failures;
    private long shrinkages;

    SimpleAllocator(SimpleFactory factory, MemoryInfo info, AllocatorOptions options) {
        this.factory = factory;
        this.info = info;
        this.options = options.resolve(SimpleFactory.KEYS);
        device = factory.device();
        fault = factory.fault();
        final long asked = options.get(SimpleFactory.LIMIT);
        limit = fault == Fault.LIMIT_ONLY_REPORTED ? Long.MAX_VALUE : asked;
    }

    // Allocating

    @Override
    public long alloc(long byteSize) {
        return allocate(byteSize, null);
    }

    @Override
    public boolean isOrderedByDevice() {
        return factory.isOrderedByDevice();
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        if (((SimpleStream) stream).isClosed() && fault != Fault.CLOSED_STREAM_ACCEPTED) {
            throw new IllegalStateException(stream + " is closed");
        }
        return allocate(byteSize, stream);
    }

    private long allocate(long byteSize, @Nullable SyncStream stream) {
        if (fault == Fault.VIRTUAL_THREADS_STARVE && Thread.currentThread().isVirtual()) {
            spinThenSleep();
        }
        if (fault == Fault.LIMIT_CHECKED_OUTSIDE_THE_LOCK && limit != Long.MAX_VALUE) {
            return checkThenAct(byteSize, stream);
        }
        acquire();
        try {
            if (fault == Fault.DEADLOCK_OF_ALLOC_AND_STATS) {
                LockSupport.parkNanos(1000);
                other.lock();
                try {
                    requireUsable();
                } finally {
                    other.unlock();
                }
            }
            return allocateLocked(byteSize, stream);
        } finally {
            unlock();
        }
    }

    private void acquire() {
        if (fault != Fault.NOT_THREAD_SAFE) {
            lock.lock();
        }
    }

    private void unlock() {
        if (fault != Fault.NOT_THREAD_SAFE) {
            lock.unlock();
        }
    }

    /**
     * A lock that is spun for, held by one who sleeps: carriers of virtual threads all spin, and the sleeper never
     * wakes.
     */
    private void spinThenSleep() {
        while (!spin.compareAndSet(false, true)) {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("interrupted");
            }
            Thread.onSpinWait();
        }
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            spin.set(false);
        }
    }

    private long checkThenAct(long byteSize, @Nullable SyncStream stream) {
        final long heldBefore = heldNow();
        if (byteSize <= limit && heldBefore <= limit - byteSize) {
            LockSupport.parkNanos(1_000_000);
            lock.lock();
            try {
                raceHeadroom = byteSize;
                return allocateLocked(byteSize, stream);
            } finally {
                raceHeadroom = 0;
                lock.unlock();
            }
        }
        lock.lock();
        try {
            return allocateLocked(byteSize, stream);
        } finally {
            lock.unlock();
        }
    }

    private long heldNow() {
        lock.lock();
        try {
            return held;
        } finally {
            lock.unlock();
        }
    }

    /** What a check outside the lock has granted already, rightly or wrongly. */
    private long raceHeadroom;

    private long allocateLocked(long byteSize, @Nullable SyncStream stream) {
        requireUsable();
        if (byteSize == 0 && fault != Fault.SIZE_ZERO_TAKES_MEMORY) {
            return 0;
        }
        if (byteSize < 0 && fault == Fault.NEGATIVE_SIZE_IS_EMPTY) {
            return 0;
        }
        final long rounded = round(byteSize);
        Chunk chunk = find(rounded, stream);
        if (chunk == null) {
            extend(byteSize, rounded);
            chunk = find(rounded, stream);
            if (chunk == null) {
                if (fault == Fault.ZERO_INSTEAD_OF_EXCEPTION) {
                    return 0;
                }
                throw exhausted(byteSize, rounded, null);
            }
        }
        if (fault == Fault.NOT_THREAD_SAFE) {
            LockSupport.parkNanos(1);
        }
        split(chunk, rounded);
        take(chunk, byteSize, stream);
        return chunk.address;
    }

    private long round(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > Long.MAX_VALUE - GRANULE) {
            if (fault == Fault.ROUNDING_OVERFLOWS) {
                return GRANULE;
            }
            throw InvalidSizeException.overflow(byteSize, GRANULE);
        }
        return (byteSize + GRANULE - 1) / GRANULE * GRANULE;
    }

    private @Nullable Chunk find(long byteSize, @Nullable SyncStream stream) {
        if (fault == Fault.FREED_MEMORY_IS_LOST) {
            return chunks.values().stream()
                    .filter(chunk -> !chunk.isLive && chunk.byteSize >= byteSize && chunk.requested == 0)
                    .findFirst()
                    .orElse(null);
        }
        for (final Chunk chunk : chunks.values()) {
            if (!chunk.isLive && chunk.byteSize >= byteSize && isUsable(chunk, stream)) {
                return chunk;
            }
        }
        return null;
    }

    private boolean isUsable(Chunk chunk, @Nullable SyncStream stream) {
        final SyncStream tie = chunk.tie;
        if (tie == null || Expect.same(tie, stream)) {
            return fault != Fault.ONE_STREAM_HOLDS_MORE || stream == null || Expect.same(tie, stream) || isWhole(chunk);
        }
        if (fault == Fault.REUSE_BEFORE_THE_STREAM_IS_DONE) {
            return true;
        }
        if (stream == null) {
            return fault == Fault.NO_STREAM_TAKES_ALL;
        }
        if (fault == Fault.HANDLE_IS_IDENTITY) {
            return factory.waitedByHandle(stream, tie) > chunk.stamp;
        }
        return stream.lastWaitedSyncId(tie) > chunk.stamp;
    }

    private boolean isWhole(Chunk chunk) {
        return chunk.byteSize == region(chunk).byteSize();
    }

    private Region region(Chunk chunk) {
        return regions.get(chunk.region);
    }

    private void extend(long byteSize, long rounded) {
        final long room = fault == Fault.LIMIT_ONLY_REPORTED ? Long.MAX_VALUE : limit - held;
        if (rounded > room && raceHeadroom < byteSize) {
            giveBackFreeRegions();
        }
        if (rounded > limit - held && raceHeadroom < byteSize) {
            if (fault == Fault.HANGS_WHEN_IMPOSSIBLE && byteSize > 1L << 49) {
                backOffForEver();
            }
            if (fault == Fault.ZERO_INSTEAD_OF_EXCEPTION) {
                return;
            }
            throw exhausted(byteSize, rounded, null);
        }
        final long wanted = Math.max(
                rounded,
                fault == Fault.REGION_SIZE_IGNORED
                        ? SimpleFactory.REGION.defaultValue()
                        : options.get(SimpleFactory.REGION));
        final long size = wanted <= limit - held ? wanted : rounded;
        try {
            addRegion(size);
        } catch (OutOfMemoryException e) {
            extendByLess(byteSize, rounded, size, e);
        }
    }

    private void addRegion(long size) {
        final Region region =
                takeRegion(size, false, fault == Fault.ALIGNMENT_LOST_WHEN_LARGE && size > LARGE ? 16 : 0);
        chunks.put(region.address(), new Chunk(region.base(), region.address(), region.byteSize()));
    }

    private void extendByLess(long byteSize, long rounded, long refused, OutOfMemoryException cause) {
        if (rounded < refused && fault != Fault.DEVICE_REFUSAL_IS_FINAL) {
            try {
                addRegion(rounded);
                return;
            } catch (OutOfMemoryException e) {
                throw exhausted(byteSize, rounded, e);
            }
        }
        if (fault == Fault.HANGS_WHEN_IMPOSSIBLE) {
            backOffForEver();
        }
        if (fault != Fault.ZERO_INSTEAD_OF_EXCEPTION) {
            throw exhausted(byteSize, rounded, cause);
        }
    }

    private void backOffForEver() {
        long size = 1L << 50;
        while (!Thread.currentThread().isInterrupted()) {
            size = Math.max(size / 2, 0);
            Thread.onSpinWait();
        }
        throw new IllegalStateException("interrupted at " + size);
    }

    private Region takeRegion(long byteSize, boolean isReserve, long skew) {
        if (fault == Fault.COUNTED_BEFORE_THE_DEVICE_CALL) {
            held += byteSize;
        }
        final long base = device.take(info, byteSize + skew);
        if (fault != Fault.COUNTED_BEFORE_THE_DEVICE_CALL) {
            held += byteSize;
        }
        peakHeld = Math.max(peakHeld, held);
        final Region region = new Region(base, base + skew, byteSize, isReserve);
        regions.put(base, region);
        return region;
    }

    private void split(Chunk chunk, long byteSize) {
        if (chunk.byteSize > byteSize) {
            final Chunk rest = new Chunk(chunk.region, chunk.address + byteSize, chunk.byteSize - byteSize);
            rest.tie = chunk.tie;
            rest.stamp = chunk.stamp;
            rest.requested = chunk.requested;
            chunks.put(rest.address, rest);
            chunk.byteSize = byteSize;
        }
    }

    private void take(Chunk chunk, long requested, @Nullable SyncStream stream) {
        chunk.isLive = true;
        chunk.owner = Thread.currentThread();
        chunk.requested = requested;
        chunk.user = stream;
        chunk.tie = null;
        chunk.stamp = stream == null ? 0 : stream.syncId();
        freedOnce.remove(chunk.address);
        inUse += chunk.byteSize;
        requestedInUse += fault == Fault.PADDING_COUNTED_AS_REQUESTED ? chunk.byteSize : requested;
        peakInUse = fault == Fault.PEAK_FOLLOWS_THE_MOMENT ? inUse : Math.max(peakInUse, inUse);
        maxAlloc = Math.max(maxAlloc, chunk.byteSize);
        allocs++;
        if (fault == Fault.NEIGHBOUR_OVERWRITTEN) {
            final Map.Entry<Long, Chunk> next = chunks.higherEntry(chunk.address);
            if (next != null && next.getValue().region == chunk.region) {
                SimpleDevice.see(next.getKey(), 1).set(java.lang.foreign.ValueLayout.JAVA_BYTE, 0, (byte) 0x5A);
            }
        }
    }

    private RuntimeException exhausted(long byteSize, long rounded, @Nullable OutOfMemoryException cause) {
        failures++;
        if (fault == Fault.FAILURES_COUNT_AS_ALLOCATIONS) {
            allocs++;
        }
        isBroken = fault == Fault.BROKEN_AFTER_FAILURE;
        if (fault == Fault.JAVA_OUT_OF_MEMORY_ERROR) {
            throw new OutOfMemoryError("simple");
        }
        final long lie = fault == Fault.SHORTAGE_NUMBERS_LIE ? 4096 : 0;
        return new OutOfMemoryException(
                "no room",
                new Shortage(
                        info,
                        byteSize,
                        rounded,
                        limit == Long.MAX_VALUE ? AllocatorStats.UNLIMITED : limit,
                        inUse + lie,
                        held,
                        OutOfMemoryException.UNKNOWN,
                        cause == null
                                ? OutOfMemoryException.UNKNOWN
                                : cause.shortage().deviceFree()),
                "",
                cause);
    }

    @Override
    public long reserve(long byteSize) {
        if (fault == Fault.RESERVE_COMES_FROM_REGIONS) {
            lock.lock();
            try {
                final long address = alloc(byteSize);
                reserves += byteSize == 0 ? 0 : 1;
                return address;
            } finally {
                lock.unlock();
            }
        }
        acquire();
        try {
            requireUsable();
            if (byteSize == 0) {
                return 0;
            }
            round(byteSize);
            if (byteSize > limit - held && fault != Fault.RESERVE_PASSES_THE_LIMIT) {
                giveBackFreeRegions();
                if (byteSize > limit - held) {
                    throw exhausted(byteSize, byteSize, null);
                }
            }
            if (fault == Fault.RESERVE_OVERLAPS) {
                final Chunk victim = find(round(byteSize), null);
                if (victim != null && !chunks.isEmpty()) {
                    final Region region = takeRegion(byteSize, true, 0);
                    final Chunk chunk = new Chunk(region.base(), region.address(), byteSize);
                    chunks.put(chunk.address, chunk);
                    take(chunk, byteSize, null);
                    reserves++;
                    overlapping.put(victim.address, chunk.address);
                    return victim.address;
                }
            }
            final Region region;
            try {
                region = takeRegion(byteSize, true, 0);
            } catch (OutOfMemoryException e) {
                throw exhausted(byteSize, byteSize, e);
            }
            final Chunk chunk = new Chunk(region.base(), region.address(), byteSize);
            chunks.put(chunk.address, chunk);
            take(chunk, byteSize, null);
            reserves++;
            return chunk.address;
        } finally {
            unlock();
        }
    }

    /** Reserves that were handed out over free chunks. */
    private final Map<Long, Long> overlapping = new TreeMap<>();

    // Freeing

    @Override
    public void free(long given) {
        acquire();
        try {
            requireUsable();
            if (given == 0) {
                return;
            }
            final Long real = overlapping.remove(given);
            final long address = real == null ? given : real;
            final Chunk chunk = chunks.get(address);
            if (chunk == null || !chunk.isLive) {
                refuse(address, chunk);
                return;
            }
            if (fault == Fault.BOUND_TO_ITS_THREAD && !Expect.same(chunk.owner, Thread.currentThread())) {
                throw new IllegalStateException("freed by another thread");
            }
            release(chunk);
        } finally {
            unlock();
        }
    }

    private void refuse(long address, @Nullable Chunk chunk) {
        final Map.Entry<Long, Chunk> below = chunks.floorEntry(address);
        final boolean isInside =
                below != null && below.getValue().isLive && address < below.getKey() + below.getValue().byteSize;
        if (isInside) {
            if (fault != Fault.INTERIOR_FREE_ACCEPTED) {
                throw new InteriorAddressException(address, "it lies inside a live block");
            }
            release(below.getValue());
        } else if (chunk != null || freedOnce.containsKey(address)) {
            if (fault != Fault.DOUBLE_FREE_ACCEPTED) {
                throw new DoubleFreeException(address, "it is free already");
            }
        } else if (fault != Fault.FOREIGN_FREE_IGNORED) {
            throw new ForeignAddressException(address, "it was never handed out");
        }
    }

    private void release(Chunk chunk) {
        inUse -= fault == Fault.IN_USE_DRIFTS ? Math.max(0, chunk.byteSize - GRANULE / 2) : chunk.byteSize;
        requestedInUse -= fault == Fault.PADDING_COUNTED_AS_REQUESTED ? chunk.byteSize : chunk.requested;
        chunk.isLive = false;
        freedOnce.put(chunk.address, chunk.address);
        if (freedOnce.size() > 1000) {
            freedOnce.clear();
        }
        final SimpleStream user = (SimpleStream) chunk.user;
        if (user != null && (!user.isClosed() || fault == Fault.TIED_TO_A_CLOSED_STREAM)) {
            chunk.tie = user;
            if (fault != Fault.STAMP_WHEN_TAKEN) {
                chunk.stamp = user.syncId();
            }
        }
        if (region(chunk).isReserve()) {
            giveBackReserve(chunk);
        } else {
            coalesce(chunk);
        }
    }

    /** A reserve goes back at once; if the device refuses it stays as a region like any other. */
    private void giveBackReserve(Chunk chunk) {
        final Region region = region(chunk);
        try {
            device.giveBack(region.base());
            chunks.remove(chunk.address);
            regions.remove(region.base());
            held -= region.byteSize();
        } catch (DeviceException e) {
            regions.put(region.base(), new Region(region.base(), region.address(), region.byteSize(), false));
            throw e;
        }
    }

    private void coalesce(Chunk freed) {
        Chunk chunk = freed;
        final Map.Entry<Long, Chunk> below = chunks.lowerEntry(chunk.address);
        if (below != null && mayMerge(below.getValue(), chunk)) {
            chunk = merge(below.getValue(), chunk);
        }
        final Map.Entry<Long, Chunk> above = chunks.higherEntry(chunk.address);
        if (above != null && mayMerge(chunk, above.getValue())) {
            merge(chunk, above.getValue());
        }
    }

    private boolean mayMerge(Chunk low, Chunk high) {
        return low.region == high.region
                && !low.isLive
                && !high.isLive
                && (Expect.same(low.tie, high.tie)
                        || low.tie == null
                        || high.tie == null
                        || fault == Fault.MERGE_KEEPS_ONE_STREAM);
    }

    private Chunk merge(Chunk low, Chunk high) {
        chunks.remove(high.address);
        low.byteSize += high.byteSize;
        if (fault == Fault.OVERLAP_AFTER_COALESCE) {
            final Map.Entry<Long, Chunk> next = chunks.higherEntry(low.address);
            if (next != null && next.getValue().region == low.region && low.byteSize > 8 * GRANULE) {
                low.byteSize += GRANULE;
            }
        }
        if (low.tie == null) {
            low.tie = high.tie;
            low.stamp = high.stamp;
        } else if (Expect.same(low.tie, high.tie)) {
            low.stamp = Math.max(low.stamp, high.stamp);
        }
        low.requested = Math.max(low.requested, high.requested);
        return low;
    }

    // Streams

    /** The stream's work is done: what was tied to it is free for all. */
    void untie(SimpleStream stream, boolean isClosing) {
        if (isClosing ? fault == Fault.TIED_TO_A_CLOSED_STREAM : fault == Fault.TIED_AFTER_RUN_END) {
            return;
        }
        lock.lock();
        try {
            final List<Chunk> tied = chunks.values().stream()
                    .filter(chunk -> Expect.same(chunk.tie, stream))
                    .toList();
            tied.forEach(chunk -> chunk.tie = null);
            if (isClosing) {
                chunks.values().stream()
                        .filter(chunk -> Expect.same(chunk.user, stream))
                        .forEach(chunk -> chunk.user = null);
            }
            tied.stream()
                    .filter(chunk -> Expect.same(chunks.get(chunk.address), chunk))
                    .forEach(this::coalesce);
        } finally {
            lock.unlock();
        }
    }

    // Shrinking

    @Override
    public ShrinkReport shrink() {
        acquire();
        try {
            requireUsable();
            final long before = held;
            if (fault == Fault.SHRINK_TAKES_LIVE_MEMORY) {
                chunks.values().stream()
                        .filter(chunk -> chunk.isLive && region(chunk).byteSize() > chunk.byteSize)
                        .forEach(chunk -> SimpleDevice.see(chunk.address, 1).fill((byte) 0x77));
            }
            final long lie = fault == Fault.SHRINK_REPORT_LIES ? 4096 : 0;
            final int released = fault == Fault.SHRINK_RETURNS_NOTHING ? 0 : giveBackFreeRegions();
            shrinkages += released;
            isBroken = fault == Fault.SHRINK_BREAKS_THE_NEXT_ALLOCATION && released > 0;
            return new ShrinkReport(before - held + lie, released, held, regions.size(), 0);
        } finally {
            unlock();
        }
    }

    private int giveBackFreeRegions() {
        int count = 0;
        for (final Region region : List.copyOf(regions.values())) {
            final List<Chunk> inside = chunks.values().stream()
                    .filter(chunk -> chunk.region == region.base())
                    .toList();
            final boolean isFree = inside.stream().noneMatch(chunk -> chunk.isLive);
            if (isFree && !region.isReserve()) {
                giveBack(region, inside);
                count++;
            }
        }
        return count;
    }

    private void giveBack(Region region, List<Chunk> inside) {
        for (final Chunk chunk : inside) {
            if (chunk.tie != null && fault != Fault.SHRINK_TAKES_QUEUED_MEMORY) {
                final SimpleStream stream = (SimpleStream) chunk.tie;
                stream.finish(stream.point());
            }
        }
        if (fault == Fault.LEAK_ON_DEVICE_FAILURE) {
            forget(region, inside);
        }
        if (fault != Fault.SHRINK_STATISTICS_LIE) {
            device.giveBack(region.base());
        } else {
            forgotten.add(region.base());
        }
        if (fault != Fault.LEAK_ON_DEVICE_FAILURE) {
            forget(region, inside);
        }
    }

    private void forget(Region region, List<Chunk> inside) {
        inside.forEach(chunk -> chunks.remove(chunk.address));
        regions.remove(region.base());
        held -= region.byteSize();
    }

    /** Regions that the statistics no longer have, and the device does. */
    private final List<Long> forgotten = new ArrayList<>();

    // What is known about it

    @Override
    public AllocatorStats stats() {
        if (fault == Fault.DEADLOCK_OF_ALLOC_AND_STATS) {
            other.lock();
        }
        acquire();
        try {
            requireUsable();
            final long free = chunks.values().stream()
                    .filter(chunk -> !chunk.isLive)
                    .mapToLong(chunk -> chunk.byteSize)
                    .sum();
            final long largest = chunks.values().stream()
                    .filter(chunk -> !chunk.isLive)
                    .mapToLong(chunk -> chunk.byteSize)
                    .max()
                    .orElse(0);
            final long shared = fault == Fault.MEMORIES_SHARE_STATISTICS ? factory.allocations(this) : 0;
            return new AllocatorStats.Builder()
                    .limit(options.get(SimpleFactory.LIMIT) == Long.MAX_VALUE ? -1 : options.get(SimpleFactory.LIMIT))
                    .inUse(inUse, requestedInUse, peakInUse)
                    .held(held, peakHeld)
                    .free(fault == Fault.FREE_BYTES_FORGET_THE_TAIL ? largest : free, largest)
                    .calls(allocs + shared, reserves, failures, maxAlloc)
                    .regions(
                            regions.values().stream()
                                            .filter(region -> !region.isReserve())
                                            .count()
                                    + (fault == Fault.REGIONS_ARE_NEVER_COUNTED_OFF ? shrinkages : 0),
                            shrinkages)
                    .build();
        } finally {
            unlock();
            if (fault == Fault.DEADLOCK_OF_ALLOC_AND_STATS) {
                other.unlock();
            }
        }
    }

    long allocations() {
        return allocs;
    }

    @Override
    public MemoryInfo info() {
        return switch (fault) {
            case ARENA_TYPE_RETURNED ->
                new MemoryInfo(info.name(), info.location(), info.byteAlignment(), AllocatorType.ARENA);
            case OTHER_INFO_RETURNED ->
                new MemoryInfo(info.name() + "Arena", info.location(), info.byteAlignment(), info.allocatorType());
            default -> info;
        };
    }

    @Override
    public int spiLevel() {
        return fault == Fault.LEVEL_OF_THE_FUTURE ? 99 : SpiLevel.SHRINK;
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return fault == Fault.EFFECTIVE_OPTIONS_ECHO ? factory.asked(this) : options;
    }

    private void requireUsable() {
        if (isClosed && fault != Fault.CLOSED_ALLOCATOR_WORKS) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
        if (isBroken) {
            throw new IllegalStateException("the bookkeeping is broken");
        }
    }

    void close() {
        lock.lock();
        try {
            isClosed = true;
            for (final Region region : List.copyOf(regions.values())) {
                if (fault != Fault.RELEASE_RETURNS_NOTHING) {
                    device.giveBack(region.base());
                    regions.remove(region.base());
                }
            }
            forgotten.forEach(device::giveBack);
            chunks.clear();
        } finally {
            lock.unlock();
        }
    }
}
