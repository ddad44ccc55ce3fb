package allocator.arena;

import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/**
 * Serves a request that a lane could not: first from the free memory of the other lanes, then once more after the
 * device was offered what it did not take back before, and after all lanes have returned their free regions. A request
 * that fails in the end counts as one failure, and one that succeeds as none.
 */
final class PressureRelief {
    private final Lanes lanes;
    private final ArenaReport report;

    PressureRelief(Lanes lanes, ArenaReport report) {
        this.lanes = lanes;
        this.report = report;
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
        OutOfMemoryException latest = failure;
        if (lanes.returnAgain() > 0) {
            try {
                return own.allocate(byteSize, stream, requester);
            } catch (OutOfMemoryException e) {
                e.addSuppressed(failure);
                latest = e; // with the figures after memory was returned
            }
        }
        shrink(byteSize, latest, lanes.count() > 1);
        try {
            return own.supply.allocateOfAll(byteSize, stream);
        } catch (AllocatorException e) {
            throw failed(e, byteSize, latest);
        }
    }

    /**
     * Reserves after the main lane failed with {@code failure}. Idle pages make room for it. Free regions of a single
     * lane do not, as in ONNX Runtime.
     */
    long reserve(long byteSize, OutOfMemoryException failure) {
        OutOfMemoryException latest = failure;
        if (lanes.returnAgain() > 0) {
            try {
                return lanes.main.reserve(byteSize);
            } catch (OutOfMemoryException e) {
                e.addSuppressed(failure);
                latest = e; // with the figures after memory was returned
            }
        }
        while (true) {
            final long before = lanes.changes();
            final long released = shrink(byteSize, latest, lanes.count() > 1 || lanes.pages != null);
            try {
                return lanes.main.reserve(byteSize);
            } catch (AllocatorException e) {
                final boolean hasChanged = released > 0 || before != lanes.changes();
                if (lanes.pages == null || !hasChanged || !isOfLimit(e) || !mayBecomeAvailable(byteSize)) {
                    throw failed(e, byteSize, latest);
                }
            }
        }
    }

    /** Returns whether the limit is why a reserve has failed: the device was not asked. */
    private static boolean isOfLimit(AllocatorException e) {
        return e instanceof OutOfMemoryException && e.getCause() == null;
    }

    /** Returns whether the limit has room for a reserve beside the extents that hold a live byte. */
    private boolean mayBecomeAvailable(long byteSize) {
        lanes.requireOutsideDevice();
        synchronized (lanes.deviceLock) {
            return byteSize <= lanes.heldLimit.available() + lanes.idleBytes();
        }
    }

    /** Shrinks all lanes if that can help, and returns the bytes released; otherwise the request has failed. */
    private long shrink(long byteSize, OutOfMemoryException failure, boolean canHelp) {
        if (!canHelp) {
            lanes.requestFailed();
            throw failure;
        }
        try {
            return lanes.shrink().bytesReleased();
        } catch (AllocatorException e) {
            throw failed(e, byteSize, failure);
        }
    }

    private OutOfMemoryException failed(AllocatorException e, long byteSize, OutOfMemoryException failure) {
        lanes.requestFailed();
        if (e instanceof OutOfMemoryException again) {
            return lanes.pages != null && lanes.count() == 1 ? again : ofAllLanes(again, byteSize);
        }
        failure.addSuppressed(e);
        return failure;
    }

    /** Returns a failure with the numbers of all lanes. */
    private OutOfMemoryException ofAllLanes(OutOfMemoryException failure, long byteSize) {
        final AllocatorStats stats = report.stats();
        final Shortage shortage = new Shortage(
                lanes.main.info,
                byteSize,
                failure.shortage().rounded(),
                stats.limit(),
                stats.bytesInUse(),
                stats.bytesHeld(),
                failure.shortage().largestFree(),
                failure.shortage().deviceFree());
        return new OutOfMemoryException(
                reason(failure) + ", also after " + lanes.count() + (lanes.count() == 1 ? " lane has" : " lanes have")
                        + " returned what is free",
                shortage,
                failure.dump(),
                failure);
    }

    /** Returns why the memory below had none, without its figures, which are not those of all lanes. */
    private static String reason(OutOfMemoryException failure) {
        OutOfMemoryException first = failure;
        while (first.getCause() instanceof OutOfMemoryException below) {
            first = below;
        }
        return LaneReport.reasonOf(first);
    }
}
