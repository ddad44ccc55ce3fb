package allocator.resource;

import allocator.provider.support.StackReserve;
import allocator.resource.base.AddressTable;
import allocator.resource.base.BlockCounts;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidSizeException;
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
    private final StreamOrderedMemoryResource second;

    /** The live blocks of the second resource. */
    private final AddressTable<Void> fromSecond = new AddressTable<>();

    /** Counts them, with the lock of their table. */
    private final BlockCounts counts = new BlockCounts();

    /**
     * Combines two resources.
     *
     * @param first the first choice
     * @param second the second choice; its memory must be accessible wherever that of {@code first} is
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
        this.second = StreamOrderedMemoryResource.of(second);
    }

    @Override
    public List<MemoryResource> upstreams() {
        return List.of(upstream(), second);
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        return allocate(byteSize, byteAlignment, stream, false);
    }

    @Override
    protected long doReserve(long byteSize, long byteAlignment) {
        return allocate(byteSize, byteAlignment, null, true);
    }

    private long allocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
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
        fromSecond.prepare();
        long address = 0;
        try {
            address = allocateSecond(byteSize, byteAlignment, stream, isReserve);
        } catch (OutOfMemoryException e) {
            if (!e.equals(failureOfFirst)) {
                failureOfFirst.addSuppressed(e);
            }
            throw failureOfFirst;
        } finally {
            if (address == 0) {
                fromSecond.abandon();
            }
        }
        enter(address, byteSize, isReserve);
        return address;
    }

    private long allocateSecond(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        if (stream != null) {
            return second.allocate(byteSize, byteAlignment, stream);
        }
        return isReserve ? second.reserve(byteSize, byteAlignment) : second.allocate(byteSize, byteAlignment);
    }

    private void enter(long address, long byteSize, boolean isReserve) {
        fromSecond.lock.lock();
        try {
            fromSecond.expectNoMore();
            fromSecond.add(address, byteSize, null);
            counts.allocated(byteSize, isReserve);
            fromSecond.lock.unlock();
        } catch (Throwable e) {
            fromSecond.lock.held = 0;
            throw e;
        }
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long recordedSize = forget(address, byteSize);
        if (recordedSize < 0) {
            deallocateUpstream(address, byteSize, byteAlignment, stream);
            return;
        }
        boolean isLive = true;
        try {
            deallocateSecond(address, byteSize, byteAlignment, stream);
            isLive = false;
        } catch (TakenBackException e) {
            isLive = false;
            throw e;
        } finally {
            settle(address, recordedSize, isLive);
        }
    }

    /** Ends the deallocation of a block that is in no table. */
    private void settle(long address, long byteSize, boolean isLive) {
        fromSecond.lock.lock();
        try {
            if (isLive) {
                fromSecond.add(address, byteSize, null);
                counts.restored(byteSize);
            } else {
                counts.returned(byteSize);
            }
            fromSecond.lock.unlock();
        } catch (Throwable e) {
            fromSecond.lock.held = 0;
            throw e;
        }
    }

    private void deallocateSecond(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        if (stream == null) {
            second.deallocate(address, byteSize, byteAlignment);
        } else {
            second.deallocate(address, byteSize, byteAlignment, stream);
        }
    }

    /** Removes a block of the second resource; returns its size, -1 if there is none. Rejects another size. */
    private long forget(long address, long byteSize) {
        StackReserve.touchBriefly();
        long recordedSize = -1;
        fromSecond.lock.lock();
        try {
            final int slot = fromSecond.find(address);
            if (slot >= 0) {
                recordedSize = fromSecond.value(slot);
                if (recordedSize == byteSize) {
                    fromSecond.remove(slot);
                    counts.leaving(byteSize);
                }
            }
            fromSecond.lock.unlock();
        } catch (Throwable e) {
            fromSecond.lock.held = 0;
            throw e;
        }
        if (recordedSize >= 0 && recordedSize != byteSize) {
            throw new InvalidSizeException(
                    byteSize, "is not the " + recordedSize + " allocated at 0x" + Long.toHexString(address));
        }
        return recordedSize;
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
        final AllocatorStats stats;
        fromSecond.lock.lock();
        try {
            stats = counts.toStats();
            fromSecond.lock.unlock();
        } catch (Throwable e) {
            fromSecond.lock.held = 0;
            throw e;
        }
        return stats;
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
