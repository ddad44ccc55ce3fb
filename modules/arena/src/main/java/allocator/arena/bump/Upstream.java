package allocator.arena.bump;

import allocator.arena.upstream.UpstreamAddress;
import allocator.arena.upstream.UpstreamCalls;
import allocator.provider.support.Failures;
import allocator.provider.support.Limit;
import allocator.provider.support.LogLimit;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An upstream allocator and the bytes held from it. Every call of a bump arena to its upstream allocator is made here.
 *
 * <p>A free of the upstream allocator takes effect; it keeps what its device refuses. Not safe for use by several
 * threads.
 */
final class Upstream {
    private static final Logger LOG = System.getLogger(BumpAllocator.class.getName());

    private final Allocator allocator;
    private final Limit limit;
    private final LogLimit logLimit = new LogLimit();

    /** Whether the upstream allocator is being called, which may call back. */
    private boolean isCalled;

    private long bytesHeld;
    private long peakBytesHeld;
    private long deviceFree = OutOfMemoryException.UNKNOWN;

    /** What the last free threw after which memory is still held. */
    private @Nullable Throwable lastFailure;

    Upstream(Allocator allocator, Limit limit) {
        this.allocator = Objects.requireNonNull(allocator, "upstream");
        this.limit = limit;
    }

    MemoryInfo info() {
        return allocator.info();
    }

    Limit limit() {
        return limit;
    }

    long bytesHeld() {
        return bytesHeld;
    }

    long peakBytesHeld() {
        return peakBytesHeld;
    }

    /** Returns the bytes that the limit still allows to take. */
    long left() {
        return limit.available(bytesHeld);
    }

    /** Returns the free bytes of the device that the upstream allocator reported with its last failure, if any. */
    long deviceFree() {
        return deviceFree;
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
     * Takes memory, which the caller has checked against {@link #left}. The caller has room to record it.
     *
     * @throws IllegalStateException if the upstream allocator is being called
     * @throws OutOfMemoryException if the upstream allocator is out of memory
     * @throws DeviceException if the upstream allocator returned address 0, or one that is not aligned as it declares;
     *     the memory is returned
     */
    long take(long byteSize) {
        requireNotCalled();
        final long address;
        isCalled = true;
        try {
            address = UpstreamCalls.take(allocator, DevicePart.REGION, byteSize);
        } catch (OutOfMemoryException e) {
            deviceFree = e.shortage().deviceFree();
            throw e;
        } finally {
            isCalled = false;
        }
        if (address == 0 || (address & (info().byteAlignment() - 1)) != 0) {
            throw unusable(address, byteSize);
        }
        bytesHeld += byteSize;
        peakBytesHeld = Math.max(peakBytesHeld, bytesHeld);
        return address;
    }

    private DeviceException unusable(long address, long byteSize) {
        final DeviceException failure = UpstreamAddress.failure(info(), address, byteSize);
        if (address != 0) {
            bytesHeld += byteSize;
            giveBack(address, byteSize);
        }
        return Objects.requireNonNull(failure);
    }

    /**
     * Gives memory back. What the upstream allocator throws is logged.
     *
     * @return whether the memory is returned: false if the upstream allocator threw anything but a
     *     {@link DeviceException}, against its contract, so that the memory is still held
     */
    boolean giveBack(long address, long byteSize) {
        final DeviceCall call = AllocatorEvents.shrinking(info(), DevicePart.REGION, byteSize);
        final boolean wasCalled = isCalled;
        boolean isReturned = false;
        Throwable failure = null;
        isCalled = true;
        try {
            allocator.free(address);
            isReturned = true;
        } catch (DeviceException e) {
            isReturned = true;
            failure = e;
        } catch (Throwable e) {
            failure = e;
            lastFailure = e;
        } finally {
            isCalled = wasCalled;
            if (isReturned) {
                bytesHeld -= byteSize;
            }
        }
        call.end(failure == null, address);
        if (failure != null) {
            log(address, isReturned, failure);
        }
        return isReturned;
    }

    private void log(long address, boolean isReturned, Throwable failure) {
        final long number = logLimit.next();
        if (number == 0) {
            return;
        }
        try {
            LOG.log(
                    Level.WARNING,
                    "{0}: 0x{1} was freed, but its allocator failed{2}: {3}{4}",
                    info(),
                    Long.toHexString(address),
                    isReturned ? "" : ", so it is held and unused until the close",
                    Failures.describe(failure),
                    LogLimit.suffix(number));
        } catch (Throwable e) {
            // A logger may throw anything, and so may the end of the Java heap.
        }
    }

    /**
     * Requires that a close has returned everything.
     *
     * @throws DeviceException if the upstream allocator has failed to take something back
     */
    void requireNothingHeld() {
        if (bytesHeld > 0) {
            throw new DeviceException(
                    "The allocator of " + info() + " failed to take back " + bytesHeld
                            + " bytes. A second close tries again",
                    lastFailure);
        }
    }
}
