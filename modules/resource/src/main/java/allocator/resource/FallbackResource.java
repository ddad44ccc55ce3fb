package allocator.resource;

import allocator.provider.support.BlockCounters;
import allocator.resource.base.LiveTable;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Allocates from a second resource when the first is out of memory, and deallocates every block through the resource
 * that allocated it. Other failures of the first pass through. If both are out of memory, the failure of the first is
 * thrown, with that of the second suppressed: it is about the memory of this resource.
 */
public final class FallbackResource extends ResourceDecorator {
    private final MemoryResource second;

    /** Makes the calls of the second resource. */
    private final ResourceDecorator callsOfSecond;

    /** The live blocks of the second resource. */
    private final LiveTable<Void> fromSecond = new LiveTable<>(false);

    /** Counts them, until the second resource has their memory back. Guarded by itself. */
    private final BlockCounters counters = new BlockCounters();

    /**
     * Combines two resources.
     *
     * @param first the first choice
     * @param second the second choice; its memory must be accessible wherever that of {@code first} is, and of the same
     *     device if calls have streams
     * @throws StackOrderException if the kind of the second cannot {@linkplain MemoryKind#canReplace replace} that of
     *     the first, or their contexts differ
     */
    public FallbackResource(MemoryResource first, MemoryResource second) {
        super(first);
        if (!second.kind().canReplace(first.kind())) {
            throw new StackOrderException(second + " has " + second.kind() + " memory, which cannot replace the "
                    + first.kind() + " memory of " + first);
        }
        if (!second.context().equals(first.context())) {
            throw new StackOrderException(second + " has another context than " + first + ": " + second.context()
                    + " is not " + first.context());
        }
        this.second = second;
        callsOfSecond = new SynchronizingResource(second);
    }

    @Override
    public List<MemoryResource> upstreams() {
        return List.of(upstream(), second);
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        try {
            return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        } catch (OutOfMemoryException e) {
            return takeSecond(byteSize, byteAlignment, stream, isReserve, e);
        }
    }

    private long takeSecond(
            long byteSize,
            long byteAlignment,
            @Nullable SyncStream stream,
            boolean isReserve,
            OutOfMemoryException failureOfFirst) {
        fromSecond.expect();
        long address = 0;
        try {
            address = callsOfSecond.allocateUpstream(byteSize, byteAlignment, stream, isReserve);
        } catch (OutOfMemoryException e) {
            if (!e.equals(failureOfFirst)) {
                failureOfFirst.addSuppressed(e);
            }
            throw failureOfFirst;
        } finally {
            if (address == 0) {
                fromSecond.expectNoMore();
            }
        }
        fromSecond.add(address, byteSize, null);
        count(byteSize, isReserve);
        return address;
    }

    private void count(long byteSize, boolean isReserve) {
        synchronized (counters) {
            counters.allocated(byteSize, byteSize);
            if (isReserve) {
                counters.reserved();
            }
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (!fromSecond.takeSized(address, byteSize)) {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
            return;
        }
        boolean isFreed = false;
        try {
            callsOfSecond.deallocateUpstream(address, byteSize, byteAlignment, stream);
            isFreed = true;
        } finally {
            fromSecond.settle(address, byteSize, null, isFreed);
        }
        synchronized (counters) {
            counters.freed(byteSize, byteSize);
        }
    }

    /**
     * Returns the sums of both; peaks are upper bounds, and limits whose sum is above {@link Long#MAX_VALUE} are none.
     * Empty if the first resource does not count.
     */
    @Override
    public Optional<AllocatorStats> stats() {
        return upstream().stats().map(one -> sum(one, second.stats().orElseGet(this::statsOfSecond)));
    }

    private AllocatorStats statsOfSecond() {
        synchronized (counters) {
            final AllocatorStats counted = counters.toStats().build();
            return counters.toStats()
                    .held(counted.bytesInUse(), counted.peakBytesInUse())
                    .build();
        }
    }

    /** Returns the sums. Counters of the second's own are left out where the first has one of that name. */
    private static AllocatorStats sum(AllocatorStats one, AllocatorStats two) {
        final boolean isLimited = one.limit() != AllocatorStats.UNLIMITED
                && two.limit() != AllocatorStats.UNLIMITED
                && one.limit() <= Long.MAX_VALUE - two.limit();
        return new AllocatorStats.Builder()
                .limit(isLimited ? one.limit() + two.limit() : AllocatorStats.UNLIMITED)
                .inUse(
                        sum(one.bytesInUse(), two.bytesInUse()),
                        sum(one.requestedBytesInUse(), two.requestedBytesInUse()),
                        sum(one.peakBytesInUse(), two.peakBytesInUse()))
                .held(sum(one.bytesHeld(), two.bytesHeld()), sum(one.peakBytesHeld(), two.peakBytesHeld()))
                .free(sum(one.freeBytes(), two.freeBytes()), Math.max(one.largestFreeChunk(), two.largestFreeChunk()))
                .calls(
                        sum(one.numAllocs(), two.numAllocs()),
                        sum(one.numReserves(), two.numReserves()),
                        sum(one.numFailedAllocs(), two.numFailedAllocs()),
                        Math.max(one.maxAllocSize(), two.maxAllocSize()))
                .regions(
                        sum(one.numArenaExtensions(), two.numArenaExtensions()),
                        sum(one.numArenaShrinkages(), two.numArenaShrinkages()))
                .counters(one.counters())
                .counters(two.counters().stream()
                        .filter(counter -> one.counter(counter.name()).isEmpty())
                        .toList())
                .build();
    }

    /** Returns a sum, {@link Long#MAX_VALUE} if it is larger. */
    private static long sum(long one, long two) {
        final long sum = one + two;
        return one > 0 && two > 0 && sum < 0 ? Long.MAX_VALUE : sum;
    }

    @Override
    public ShrinkReport shrink() {
        return super.shrink().plus(shrinkSecond());
    }

    /** Shrinks the second resource; what it holds is known here if it does not count. */
    private ShrinkReport shrinkSecond() {
        final ShrinkReport report = second.shrink();
        return second.stats().isPresent()
                ? report
                : new ShrinkReport(
                        report.bytesReleased(),
                        report.regionsReleased(),
                        statsOfSecond().bytesHeld(),
                        report.regionsInUse(),
                        report.regionsKept());
    }

    @Override
    public String toString() {
        return "Fallback(" + upstream() + ", " + second + ")";
    }
}
