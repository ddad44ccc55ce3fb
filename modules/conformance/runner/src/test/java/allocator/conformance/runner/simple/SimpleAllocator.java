package allocator.conformance.runner.simple;

import allocator.conformance.subject.Expect;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A first-fit arena: slow, obvious, and correct except for the one fault it is created with. */
class SimpleAllocator implements StreamAwareAllocator, ShrinkableAllocator {
    private final SimpleFactory factory;
    private final MemoryInfo info;
    private final AllocatorOptions options;
    private final Fault fault;
    private final SimpleLock lock;
    private final SimpleRegions regions;
    private final SimpleChunks chunks;
    private final SimpleCounters counters;
    private final SimpleGrowth growth;

    /** The chunks of reserves that were placed over free chunks, by the address of the free chunk. */
    private final Map<Long, Long> overlapping = new TreeMap<>();

    /** The bytes that a check outside the lock has granted already, rightly or wrongly. */
    private long raceHeadroom;

    private final CyclicBarrier granted = new CyclicBarrier(3);

    private volatile boolean isClosed;
    private long shrinkages;

    SimpleAllocator(SimpleFactory factory, MemoryInfo info, AllocatorOptions options) {
        this.factory = factory;
        this.info = info;
        this.options = options.resolve(SimpleFactory.KEYS);
        fault = factory.fault();
        lock = new SimpleLock(fault);
        regions = new SimpleRegions(factory.device(), info, fault);
        chunks = new SimpleChunks(factory, regions);
        counters = new SimpleCounters(fault);
        growth = new SimpleGrowth(info, this.options, fault, regions, chunks, counters);
    }

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
        if (!(stream instanceof SimpleStream simple) || !factory.lists(stream.memory())) {
            throw new IllegalArgumentException(stream + " is not of the device of " + info);
        }
        if (simple.isClosed() && fault != Fault.CLOSED_STREAM_ACCEPTED) {
            throw new IllegalStateException(stream + " is closed");
        }
        return allocate(byteSize, stream);
    }

    private long allocate(long byteSize, @Nullable SyncStream stream) {
        if (fault == Fault.LIMIT_CHECKED_OUTSIDE_THE_LOCK && growth.limit() != Long.MAX_VALUE) {
            return checkThenAct(byteSize, stream);
        }
        lock.acquireForAlloc();
        try {
            return allocateLocked(byteSize, stream);
        } finally {
            lock.release();
        }
    }

    private long checkThenAct(long byteSize, @Nullable SyncStream stream) {
        final boolean isGranted = byteSize <= growth.limit() && heldNow() <= growth.limit() - byteSize;
        if (isGranted && byteSize > growth.limit() / 3) {
            awaitOthers();
        }
        lock.acquireAlways();
        try {
            raceHeadroom = isGranted ? byteSize : 0;
            return allocateLocked(byteSize, stream);
        } finally {
            raceHeadroom = 0;
            lock.releaseAlways();
        }
    }

    /** Waits for two other threads that have been granted a third of the limit or more, so that the race is lost. */
    private void awaitOthers() {
        try {
            granted.await(100, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | BrokenBarrierException e) {
            granted.reset();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private long heldNow() {
        lock.acquireAlways();
        try {
            return regions.held();
        } finally {
            lock.releaseAlways();
        }
    }

    private long allocateLocked(long byteSize, @Nullable SyncStream stream) {
        requireUsable();
        if (byteSize == 0 && fault != Fault.SIZE_ZERO_TAKES_MEMORY) {
            return 0;
        }
        if (byteSize < 0 && fault == Fault.NEGATIVE_SIZE_IS_EMPTY) {
            return 0;
        }
        final long rounded = chunks.round(byteSize);
        SimpleChunk chunk = chunks.find(rounded, stream);
        if (chunk == null) {
            growth.extend(byteSize, rounded, raceHeadroom);
            chunk = chunks.find(rounded, stream);
            if (chunk == null) {
                if (fault == Fault.ZERO_INSTEAD_OF_EXCEPTION) {
                    return 0;
                }
                throw growth.exhausted(byteSize, rounded, null);
            }
        }
        if (fault == Fault.NOT_THREAD_SAFE) {
            LockSupport.parkNanos(1);
        }
        chunks.split(chunk, rounded);
        take(chunk, byteSize, stream);
        return chunk.address;
    }

    private void take(SimpleChunk chunk, long requested, @Nullable SyncStream stream) {
        chunks.take(chunk, requested, stream);
        counters.allocated(chunk);
        if (fault == Fault.NEIGHBOUR_OVERWRITTEN) {
            chunks.overwriteNeighbourOf(chunk);
        }
    }

    @Override
    public long reserve(long byteSize) {
        if (fault == Fault.RESERVE_COMES_FROM_REGIONS) {
            return reserveFromRegions(byteSize);
        }
        lock.acquire();
        try {
            requireUsable();
            if (byteSize == 0) {
                return 0;
            }
            final long rounded = chunks.round(byteSize);
            growth.requireRoomForReserve(byteSize);
            final SimpleChunk victim = fault == Fault.RESERVE_OVERLAPS ? chunks.find(rounded, null) : null;
            final SimpleChunk chunk = growth.reserve(byteSize);
            take(chunk, byteSize, null);
            counters.reserved();
            if (victim != null) {
                overlapping.put(victim.address, chunk.address);
                return victim.address;
            }
            return chunk.address;
        } finally {
            lock.release();
        }
    }

    private long reserveFromRegions(long byteSize) {
        lock.acquireAlways();
        try {
            final long address = alloc(byteSize);
            if (byteSize != 0) {
                counters.reserved();
            }
            return address;
        } finally {
            lock.releaseAlways();
        }
    }

    @Override
    public void free(long address) {
        lock.acquire();
        try {
            requireUsable();
            if (address == 0) {
                return;
            }
            final Long reserve = overlapping.remove(address);
            final SimpleChunk chunk = chunks.requireLive(reserve == null ? address : reserve);
            if (chunk == null) {
                return;
            }
            if (fault == Fault.BOUND_TO_ITS_THREAD && !Expect.same(chunk.thread, Thread.currentThread())) {
                throw new IllegalStateException("freed by another thread");
            }
            release(chunk);
        } finally {
            lock.release();
        }
    }

    private void release(SimpleChunk chunk) {
        counters.freed(chunk);
        chunks.release(chunk);
        final SimpleRegion region = regions.of(chunk);
        if (region.isReserve()) {
            regions.giveBack(region, () -> chunks.remove(List.of(chunk)));
        } else {
            chunks.coalesce(chunk);
        }
    }

    /** Unbinds the memory that a stream had freed before an end of a run, or all if it is closing. */
    void unbind(SimpleStream stream, long endId) {
        if (fault == (endId == SimpleChunks.CLOSING ? Fault.BOUND_TO_A_CLOSED_STREAM : Fault.BOUND_AFTER_RUN_END)) {
            return;
        }
        lock.acquireAlways();
        try {
            chunks.unbind(stream, endId);
        } finally {
            lock.releaseAlways();
        }
    }

    @Override
    public ShrinkReport shrink() {
        lock.acquire();
        try {
            requireUsable();
            final long before = regions.held();
            if (fault == Fault.SHRINK_TAKES_LIVE_MEMORY) {
                chunks.overwriteLiveOnes();
            }
            growth.offerAgain();
            final int released = fault == Fault.SHRINK_RETURNS_NOTHING ? 0 : growth.giveBackFreeRegions();
            shrinkages += released;
            final long held = regions.held();
            final long lie = fault == Fault.SHRINK_REPORT_LIES
                    ? 4096
                    : fault == Fault.SHRINK_REPORTS_REFUSED_MEMORY ? regions.refusedBytes() : 0;
            final long explained = fault == Fault.SHRINK_EXPLAINS_TOO_LITTLE ? held - 1 : held;
            final int inUse = (int)
                    regions.all().stream().filter(region -> !region.isReserve()).count();
            return new ShrinkReport(
                    before - held + lie,
                    released,
                    held,
                    inUse,
                    0,
                    List.of(new ShrinkReport.Held(explained, inUse, "regions with live blocks, and reserves")));
        } finally {
            lock.release();
        }
    }

    @Override
    public AllocatorStats stats() {
        lock.acquireForStats();
        try {
            requireUsable();
            final LongSummaryStatistics free =
                    chunks.free().mapToLong(chunk -> chunk.byteSize).summaryStatistics();
            final long largest = Math.max(0, free.getMax());
            final long limitOption = options.get(SimpleFactory.LIMIT);
            final AllocatorStats.Builder builder = new AllocatorStats.Builder()
                    .limit(limitOption == Long.MAX_VALUE ? AllocatorStats.UNLIMITED : limitOption)
                    .held(regions.held(), regions.peakHeld())
                    .free(
                            (fault == Fault.FREE_BYTES_FORGET_THE_TAIL ? largest : free.getSum())
                                    + regions.refusedBytes(),
                            largest)
                    .regions(
                            regions.count() + (fault == Fault.REGIONS_ARE_NEVER_COUNTED_OFF ? shrinkages : 0),
                            shrinkages);
            final long calls = counters.allocs();
            builder.counter(
                    "NumSearches",
                    fault == Fault.OWN_COUNTER_DECREASES ? calls % 10 : calls,
                    fault == Fault.OWN_COUNTER_CHANGES_ITS_UNIT && calls > 5
                            ? AllocatorStats.Unit.BYTES
                            : AllocatorStats.Unit.COUNT,
                    true);
            counters.addTo(builder, fault == Fault.MEMORIES_SHARE_STATISTICS ? factory.allocations(this) : 0);
            return builder.build();
        } finally {
            lock.releaseForStats();
        }
    }

    long allocations() {
        return counters.allocs();
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

    final boolean isClosed() {
        return isClosed;
    }

    private void requireUsable() {
        if (isClosed && fault != Fault.CLOSED_ALLOCATOR_WORKS) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
        if ((fault == Fault.SHRINK_BREAKS_THE_NEXT_ALLOCATION && shrinkages > 0)
                || (fault == Fault.BROKEN_AFTER_FAILURE && counters.failures() > 0)) {
            throw new IllegalStateException("the bookkeeping is broken");
        }
    }

    /** Returns all memory to the device. Called again after a failure, it tries again. */
    void close() {
        lock.acquireAlways();
        try {
            isClosed = true;
            chunks.clear();
            regions.close();
        } finally {
            lock.releaseAlways();
        }
    }
}
