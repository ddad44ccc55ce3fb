package allocator.arena.bump;

import allocator.arena.upstream.UpstreamAddress;
import allocator.arena.upstream.UpstreamCalls;
import allocator.provider.support.Failures;
import allocator.provider.support.Limit;
import allocator.provider.support.LiveSizes;
import allocator.provider.support.StackReserve;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The memory held from an upstream allocator. Every call of a bump arena to its upstream allocator is made here.
 *
 * <p>Memory that the upstream allocator fails to take back, whatever it throws, is <em>unreturned</em>: it counts as
 * held and is not used. {@link #returnAgain} tries to return it again. After a {@link DeviceException} it counts as
 * returned: a free takes effect. If the upstream allocator does not know the address at the next attempt, or has
 * handed it out again, the memory had been returned.
 *
 * <p>The callers make all room that they need before {@link #take} and before {@link #prepareReturns}. Both touch the
 * stack, so what follows them does not fail. Not safe for use by several threads.
 */
final class UpstreamMemory {
    private final Allocator upstream;
    private final Limit limit;
    private final LiveSizes unreturned = new LiveSizes();

    /** Whether the upstream allocator is being called, which may call back. */
    private boolean isInUpstream;

    private long bytesHeld;
    private long peakBytesHeld;
    private long deviceFree = OutOfMemoryException.UNKNOWN;

    UpstreamMemory(Allocator upstream, Limit limit) {
        this.upstream = Objects.requireNonNull(upstream, "upstream");
        this.limit = limit;
    }

    MemoryInfo info() {
        return upstream.info();
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

    /** Calls an action with the memory that the upstream allocator failed to take back. */
    void forEachUnreturned(LiveSizes.Action action) {
        unreturned.forEach(action);
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
    boolean isInUpstream() {
        return isInUpstream;
    }

    /**
     * Rejects a call back from the upstream allocator.
     *
     * @throws IllegalStateException if the upstream allocator is being called
     */
    void requireNotInUpstream() {
        if (isInUpstream) {
            throw new IllegalStateException("the bump arena of " + info() + " is in a call to its upstream allocator, "
                    + "which may use and free what the arena holds, but not make it take more or close it");
        }
    }

    /**
     * Takes memory, which the caller has checked against {@link #left}.
     *
     * @throws IllegalStateException if the upstream allocator is being called
     * @throws OutOfMemoryException if the upstream allocator is out of memory
     * @throws DeviceException if the upstream allocator returned address 0, or one that is not aligned as it declares;
     *     the memory is returned
     */
    long take(long byteSize) {
        requireNotInUpstream();
        ensureRoom(1);
        StackReserve.touch();
        final long address;
        isInUpstream = true;
        try {
            address = UpstreamCalls.take(upstream, DevicePart.REGION, byteSize);
        } catch (OutOfMemoryException e) {
            deviceFree = e.shortage().deviceFree();
            throw e;
        } finally {
            isInUpstream = false;
        }
        final DeviceException unusable = UpstreamAddress.failure(info(), address, byteSize);
        if (address != 0) {
            bytesHeld += byteSize;
            if (!unreturned.isEmpty()) {
                bytesHeld -= unreturned.removeOverlapping(address, byteSize);
            }
            if (unusable != null) {
                giveBack(address, byteSize);
            }
        }
        if (unusable != null) {
            throw unusable;
        }
        peakBytesHeld = Math.max(peakBytesHeld, bytesHeld);
        return address;
    }

    /**
     * Makes room, so that the next calls of {@link #giveBack} lose nothing.
     *
     * @param count how many calls follow
     * @throws OutOfMemoryError if the Java heap has no room; nothing changes
     * @throws StackOverflowError if the thread's stack has little left; nothing changes
     */
    void prepareReturns(int count) {
        ensureRoom(count);
        StackReserve.touch();
    }

    /** Follows the last of many returns: tables that were made large for them become small again. */
    void endReturns() {
        ensureRoom(0);
    }

    /** Returns the Java heap that the tables take. */
    long bookkeepingBytes() {
        return unreturned.heapBytes();
    }

    private void ensureRoom(int count) {
        unreturned.ensureRoom(count);
    }

    /**
     * Gives memory back and returns whatever was thrown, after which the memory is unreturned, or no longer the
     * arena's.
     */
    @Nullable
    Throwable giveBack(long address, long byteSize) {
        final boolean wasInUpstream = isInUpstream;
        unreturned.put(address, byteSize);
        isInUpstream = true;
        final DeviceCall call = AllocatorEvents.shrinking(info(), DevicePart.REGION, byteSize);
        boolean isReturned = false;
        try {
            upstream.free(address);
            isReturned = true;
        } catch (DeviceException e) {
            returned(address, byteSize);
            return null;
        } catch (Throwable e) {
            return e;
        } finally {
            isInUpstream = wasInUpstream;
            call.end(isReturned, address);
        }
        returned(address, byteSize);
        return null;
    }

    private void returned(long address, long byteSize) {
        unreturned.remove(address);
        bytesHeld -= byteSize;
    }

    /** Tries to return the unreturned memory again, all of it, and adds the failures to {@code failures}. */
    void returnAgain(Failures failures) {
        if (unreturned.isEmpty()) {
            return;
        }
        final LiveSizes again = new LiveSizes();
        again.ensureRoom(unreturned.count());
        StackReserve.touch();
        again.putAll(unreturned);
        again.forEach((address, byteSize) -> {
            final Throwable failure = giveBack(address, byteSize);
            if (failure instanceof InvalidFreeException) {
                returned(address, byteSize);
            } else {
                failures.add(failure);
            }
        });
    }
}
