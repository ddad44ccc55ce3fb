package allocator.arena.bump;

import allocator.arena.upstream.HeldLimit;
import allocator.arena.upstream.Upstream;
import allocator.provider.support.Limit;
import allocator.provider.support.event.DevicePart;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.PagedReserves;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Takes regions from an upstream allocator and gives them back. Every call of a bump arena to its upstream allocator is
 * made here. Not safe for use by several threads.
 */
final class RegionSource {
    private final Upstream upstream;
    private final HeldLimit limit;

    /** Whether the upstream allocator is being called, which may call back. */
    private boolean isCalled;

    private long bytesTaken;

    /** What reserves with one copy save, as far as it is counted. */
    private long shared;

    private long deviceFree = OutOfMemoryException.UNKNOWN;

    /** What the last free threw after which memory is still held. */
    private @Nullable Throwable lastFailure;

    RegionSource(Allocator upstream, Limit limit) {
        this.upstream = new Upstream(Objects.requireNonNull(upstream, "upstream"));
        this.limit = new HeldLimit(limit.available(0), this.upstream::unreturnedBytes);
    }

    MemoryInfo info() {
        return upstream.info();
    }

    /** Returns the bytes held, with what the upstream allocator's device has not taken back. */
    long bytesHeld() {
        return limit.withUnreturned(bytesTaken);
    }

    long peakBytesHeld() {
        return Math.max(bytesHeld(), limit.peakHeld());
    }

    /** Returns the bytes that the limit still allows to take. */
    long left() {
        return limit.available();
    }

    /** Returns the free bytes of the device that the upstream allocator reported with its last failure, if any. */
    long deviceFree() {
        return deviceFree;
    }

    /** Returns the upstream allocator's counters of memory that its device has not taken back. */
    List<AllocatorStats.Counter> counters() {
        return upstream.counters();
    }

    /** Offers memory again that the device has not taken back; returns whether it took some. */
    boolean returnAgain() {
        return !isCalled && upstream.returnAgain() > 0;
    }

    /** Returns whether the upstream allocator is being called, so that this is a call back from it. */
    boolean isCalled() {
        return isCalled;
    }

    /**
     * Rejects a call back from the upstream allocator, which would change what a call in progress rests on.
     *
     * @throws IllegalStateException if the upstream allocator is being called
     */
    void requireNotCalled() {
        if (isCalled) {
            throw new IllegalStateException("the bump arena of " + info() + " is in a call to its upstream allocator, "
                    + "which may use and free what the arena holds, but not make it take more or close it");
        }
    }

    /**
     * Takes the memory of a region. The caller has checked its size against {@link #left} and has room to record it.
     *
     * @throws IllegalStateException if the upstream allocator is being called
     * @throws OutOfMemoryException if the upstream allocator is out of memory
     * @throws DeviceException if the address that the upstream allocator returned is zero or not aligned
     */
    void take(BumpRegion region) {
        requireNotCalled();
        isCalled = true;
        try {
            region.placeAt(upstream.take(DevicePart.REGION, region.byteSize));
        } catch (OutOfMemoryException e) {
            deviceFree = e.shortage().deviceFree();
            throw e;
        } finally {
            isCalled = false;
        }
        bytesTaken += region.byteSize;
        limit.take(region.byteSize);
    }

    /**
     * Gives the memory of a region back. Returns false if the upstream allocator threw anything but a
     * {@link DeviceException}, against its contract, so that the memory is still held.
     */
    boolean giveBack(BumpRegion region) {
        final boolean wasCalled = isCalled;
        isCalled = true;
        final Throwable failure;
        try {
            failure = upstream.giveBack(region.base(), region.byteSize, DevicePart.REGION);
        } finally {
            isCalled = wasCalled;
        }
        if (failure != null) {
            lastFailure = failure;
            return false;
        }
        bytesTaken -= region.byteSize;
        limit.giveBack(region.byteSize);
        return true;
    }

    /** Returns what gives equal reserves one copy; {@code null} if the upstream allocator cannot. */
    @Nullable
    PagedReserves reserves() {
        return upstream.reserves();
    }

    /** Counts what has one copy now once. Returns by how much more is saved than before. */
    long countShared() {
        final long more = upstream.sharedBytes() - shared;
        shared += more;
        bytesTaken -= more;
        limit.giveBack(more);
        return more;
    }

    /**
     * Requires that a close has returned everything.
     *
     * @throws DeviceException if the upstream allocator has failed to take something back
     */
    void requireNothingHeld() {
        if (bytesTaken > 0) {
            throw new DeviceException(
                    "The allocator of " + info() + " failed to take back " + bytesTaken
                            + " bytes. A second close tries again",
                    lastFailure);
        }
    }
}
