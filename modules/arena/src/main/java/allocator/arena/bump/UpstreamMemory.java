package allocator.arena.bump;

import allocator.provider.support.Limit;
import allocator.provider.support.LiveSizes;
import allocator.spi.Allocator;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The memory held from an upstream allocator. Every call of a bump arena to its upstream allocator is made here.
 *
 * <p>Memory that the upstream allocator fails to take back is <em>unreturned</em>: it counts as held and is not used.
 * {@link #returnAgain} tries to return it again; if the upstream allocator hands out the same addresses, it had been
 * returned.
 *
 * <p>Not safe for use by several threads.
 */
final class UpstreamMemory {
    private final Allocator upstream;
    private final Limit limit;
    private final LiveSizes unreturned = new LiveSizes();
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

    /** Returns the bytes that the limit still allows to take. */
    long left() {
        return limit.available(bytesHeld);
    }

    /** Returns the free bytes of the device that the upstream allocator reported with its last failure, if any. */
    long deviceFree() {
        return deviceFree;
    }

    /**
     * Takes memory, which the caller has checked against {@link #left}.
     *
     * @throws OutOfMemoryException if the upstream allocator is out of memory
     */
    long take(long byteSize) {
        final long address;
        try {
            address = upstream.alloc(byteSize);
        } catch (OutOfMemoryException e) {
            deviceFree = e.shortage().deviceFree();
            throw e;
        }
        bytesHeld += byteSize;
        if (!unreturned.isEmpty()) {
            bytesHeld -= unreturned.removeOverlapping(address, byteSize);
        }
        peakBytesHeld = Math.max(peakBytesHeld, bytesHeld);
        return address;
    }

    /** Gives memory back and returns the failure, if any, after which the memory is unreturned. */
    @Nullable
    DeviceException giveBack(long address, long byteSize) {
        try {
            upstream.free(address);
        } catch (DeviceException e) {
            unreturned.put(address, byteSize);
            return e;
        }
        bytesHeld -= byteSize;
        return null;
    }

    /**
     * Tries to return the unreturned memory again.
     *
     * @throws DeviceException the first failure, which ends the attempt
     */
    void returnAgain() {
        unreturned.forEach((address, byteSize) -> {
            unreturned.remove(address);
            throwIfFailed(giveBack(address, byteSize));
        });
    }

    static void throwIfFailed(@Nullable DeviceException failure) {
        if (failure != null) {
            throw failure;
        }
    }
}
