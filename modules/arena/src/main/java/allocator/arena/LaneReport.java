package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Region;
import allocator.arena.upstream.Counters;
import allocator.provider.support.Limit;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Describes a lane: statistics, sizes, what a shrink left, and the failure of a request or a free. */
final class LaneReport {
    private static final Logger LOG = System.getLogger(BfcArena.class.getName());

    private final Lane lane;
    private final BestFit placement;
    private final Counters counters;

    LaneReport(Lane lane) {
        this.lane = lane;
        placement = lane.placement;
        counters = lane.counters;
    }

    /** Returns the counters. Under the lane's lock. */
    AllocatorStats stats() {
        return counters.toStats(limit(), lane.supply.largestFree(), lane.failedRequests(), lane.supply.ownCounters());
    }

    private long limit() {
        return lane.config.limit().toStats();
    }

    /** Returns the bytes that the caller of a live allocation requested. */
    long requestedSize(long address) {
        return sizeOf(address, true);
    }

    /** Returns the bytes that a live allocation occupies. */
    long allocatedSize(long address) {
        return sizeOf(address, false);
    }

    private long sizeOf(long address, boolean isRequested) {
        return lane.locked(() -> {
            final Region region = lane.regions.find(address);
            if (region != null && placement.findLive(region, address)) {
                return isRequested ? placement.liveRequested() : Granules.toBytes(placement.liveGranules());
            }
            final long reserved = lane.blocks.sizeOfReserve(address);
            if (reserved < 0) {
                throw new IllegalArgumentException(
                        "0x" + Long.toHexString(address) + " is not a live allocation of " + lane.info);
            }
            return reserved;
        });
    }

    /**
     * Reports a shrink, and logs the report. Takes the lane's lock.
     *
     * @param staying says what stays in regions or pages, by the reason why: first that with live blocks
     */
    ShrinkReport shrunk(long released, int regionsReleased, Supplier<List<Held>> staying) {
        final ShrinkReport report = lane.locked(() -> {
            final List<Held> parts = new ArrayList<>(staying.get());
            final int inUse = parts.getFirst().regions();
            final int regions = parts.stream().mapToInt(Held::regions).sum();
            parts.add(new Held(lane.blocks.heldByReserves(), 0, "reserves, each until it is freed"));
            parts.add(new Held(
                    lane.blocks.leavingBytes(),
                    0,
                    "memory that the upstream allocator failed to free; the close tries again"));
            parts.removeIf(part -> part.bytes() == 0);
            return new ShrinkReport(released, regionsReleased, counters.held(), inUse, regions - inUse, parts);
        });
        LOG.log(Level.DEBUG, "{0}: {1}", lane.info, report);
        return report;
    }

    /** Returns the exception for a request that exceeds the limit. Under the lane's lock. */
    OutOfMemoryException limitReached(
            long available, long byteSize, long rounded, @Nullable SyncStream stream, boolean isReserve) {
        final String reason = "Available memory of " + available + " is smaller than requested bytes of " + rounded
                + " under " + Limit.KEY.name();
        return outOfMemory(reason, byteSize, rounded, stream, largestFor(stream, isReserve), isReserve, null);
    }

    /** Returns the exception for a request that no region can hold. Under the lane's lock. */
    OutOfMemoryException regionImpossible(long byteSize, long rounded, @Nullable SyncStream stream) {
        return deviceFailedNow(byteSize, rounded, stream, false, null);
    }

    /** Returns the exception for a request that the device could not satisfy. Takes the lane's lock. */
    OutOfMemoryException deviceFailed(
            long byteSize, long rounded, @Nullable SyncStream stream, boolean isReserve, OutOfMemoryException cause) {
        lane.lock.lock();
        try {
            lane.begin();
            return deviceFailedNow(byteSize, rounded, stream, isReserve, cause);
        } finally {
            lane.lock.unlock();
        }
    }

    private OutOfMemoryException deviceFailedNow(
            long byteSize,
            long rounded,
            @Nullable SyncStream stream,
            boolean isReserve,
            @Nullable OutOfMemoryException cause) {
        final String reason = "Failed to allocate memory for requested buffer of size " + rounded;
        return outOfMemory(reason, byteSize, rounded, stream, largestFor(stream, isReserve), isReserve, cause);
    }

    /** Returns the exception for a request that there are too few pages or addresses for. Takes the lane's lock. */
    OutOfMemoryException pagesFailed(
            long byteSize, @Nullable SyncStream stream, OutOfMemoryException cause, boolean isOfAddresses) {
        return lane.locked(() -> {
            final long largest = isOfAddresses ? OutOfMemoryException.UNKNOWN : largestFor(stream, false);
            return outOfMemory(reasonOf(cause), byteSize, Granules.roundUp(byteSize), stream, largest, false, cause);
        });
    }

    private long largestFor(@Nullable SyncStream stream, boolean isReserve) {
        return isReserve ? 0 : lane.supply.largestFree(stream);
    }

    /** Returns the message of a failure without its figures, which another one replaces. */
    static String reasonOf(OutOfMemoryException failure) {
        final String message = String.valueOf(failure.getMessage());
        final int figures = message.lastIndexOf(" [" + failure.shortage().memory());
        return figures < 0 ? message : message.substring(0, figures);
    }

    private OutOfMemoryException outOfMemory(
            String reason,
            long byteSize,
            long rounded,
            @Nullable SyncStream stream,
            long largest,
            boolean isReserve,
            @Nullable OutOfMemoryException cause) {
        final Shortage shortage = new Shortage(
                lane.info,
                byteSize,
                rounded,
                limit(),
                counters.inUse(),
                lane.heldBytes(),
                largest,
                cause == null ? OutOfMemoryException.UNKNOWN : cause.shortage().deviceFree());
        final String request = (isReserve ? "reserve" : "allocation") + " of " + byteSize + " bytes (" + rounded
                + " rounded) for " + (stream == null ? "no stream" : "stream " + stream.id()) + " failed";
        return new OutOfMemoryException(reason, shortage, dump(request), cause);
    }

    /** Describes the lane, or returns an empty text where the Java heap ends. Under the lane's lock. */
    private String dump(String request) {
        try {
            return ArenaDump.of(lane, request);
        } catch (OutOfMemoryError e) {
            return ""; // The caller learns that there is no memory. The lane repairs itself if need be.
        }
    }

    /** Returns the exception for a free of an address in a region where no live block starts. Under the lane's lock. */
    InvalidFreeException invalidFree(Region region, long address) {
        final InvalidFreeException[] failure = new InvalidFreeException[1];
        placement.list(region, (start, byteSize, requested, state, streamId) -> {
            if (address - start >= 0 && address - start < byteSize) {
                final String where = byteSize + " bytes at 0x" + Long.toHexString(start) + " of " + lane.info;
                failure[0] = invalidFree(region, address, address - start, state, where);
            }
        });
        return failure[0];
    }

    private static InvalidFreeException invalidFree(
            Region region, long address, long offset, State state, String where) {
        if (state == State.LIVE) {
            return new InteriorAddressException(
                    address, "it lies " + offset + " bytes inside a live allocation of " + where);
        }
        return Granules.isWhole(address - region.base())
                ? new DoubleFreeException(address, "it was freed already; it lies in a free chunk of " + where)
                : new ForeignAddressException(address, "it was never allocated; it lies in a free chunk of " + where);
    }
}
