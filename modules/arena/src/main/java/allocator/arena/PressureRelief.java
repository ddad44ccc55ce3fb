package allocator.arena;

import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Serves a request that a lane could not: first from the free memory of the other lanes, then once more after all lanes
 * have returned their free regions. A request that fails in the end counts as one failure, and one that succeeds as
 * none.
 */
final class PressureRelief {
    private final Lanes lanes;
    private final ArenaTotals totals;
    private final MemoryInfo info;

    PressureRelief(Lanes lanes, ArenaTotals totals, MemoryInfo info) {
        this.lanes = lanes;
        this.totals = totals;
        this.info = info;
    }

    /** Allocates after {@code own}, the requester's lane, failed with {@code failure}. */
    long allocate(long byteSize, @Nullable SyncStream stream, long requester, Lane own, OutOfMemoryException failure) {
        for (final Lane lane : lanes.all()) {
            if (lane != own) {
                try {
                    return lane.allocate(byteSize, stream, requester);
                } catch (OutOfMemoryException e) {
                    failure.addSuppressed(e);
                }
            }
        }
        return afterShrink(byteSize, () -> own.allocate(byteSize, stream, requester), failure);
    }

    /** Reserves after the main lane failed with {@code failure}. */
    long reserve(long byteSize, OutOfMemoryException failure) {
        return afterShrink(byteSize, () -> lanes.main.reserve(byteSize), failure);
    }

    /** Shrinks all lanes if there are several, and repeats the request. */
    private long afterShrink(long byteSize, LongSupplier request, OutOfMemoryException failure) {
        if (lanes.count() == 1) {
            lanes.requestFailed();
            throw failure;
        }
        try {
            lanes.shrink();
            return request.getAsLong();
        } catch (OutOfMemoryException e) {
            lanes.requestFailed();
            throw ofAllLanes(e, byteSize);
        } catch (AllocatorException e) {
            lanes.requestFailed();
            failure.addSuppressed(e);
            throw failure;
        }
    }

    /** Returns a failure with the numbers of all lanes. */
    private OutOfMemoryException ofAllLanes(OutOfMemoryException failure, long byteSize) {
        final AllocatorStats stats = totals.stats();
        final Shortage shortage = new Shortage(
                info,
                byteSize,
                failure.shortage().rounded(),
                stats.limit(),
                stats.bytesInUse(),
                stats.bytesHeld(),
                failure.shortage().largestFree(),
                failure.shortage().deviceFree());
        return new OutOfMemoryException(
                "No memory, also after " + lanes.count() + " lanes returned their free regions",
                shortage,
                failure.dump(),
                failure);
    }
}
