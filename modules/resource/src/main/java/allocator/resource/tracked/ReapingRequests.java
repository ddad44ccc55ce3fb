package allocator.resource.tracked;

import allocator.provider.support.LogLimit;
import allocator.provider.support.StackReserve;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.resource.budget.Budget;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * Charges and allocates for a {@link TrackedMemory}. A request without room reaps, and is tried again as long as memory
 * is returned.
 *
 * <p>An exception of such a reap is about another block. It does not end the request: it is suppressed in the exception
 * of a request that finds no room all the same, and logged if the request succeeds. An error ends the request.
 */
final class ReapingRequests {
    private static final System.Logger LOGGER = System.getLogger(TrackedMemory.class.getName());

    private final StreamOrderedMemoryResource upstream;
    private final TrackedBytes bytes;
    private final PendingFrees pending;
    private final LogLimit logLimit = new LogLimit();

    ReapingRequests(StreamOrderedMemoryResource upstream, TrackedBytes bytes, PendingFrees pending) {
        this.upstream = upstream;
        this.bytes = bytes;
        this.pending = pending;
    }

    /** Charges a new block. If it throws, nothing is charged. */
    void charge(long byteSize) {
        long returned = bytes.returned();
        Exception failure = null;
        Budget.Status rejection = bytes.charge(byteSize);
        while (rejection != null) {
            final boolean canFit = !bytes.isLimitBelow(byteSize);
            failure = canFit ? reap(failure) : failure;
            if (!canFit || bytes.returned() <= returned) {
                final OutOfMemoryException e = bytes.outOfMemory(rejection, upstream.memory(), byteSize);
                suppress(e, failure);
                throw e;
            }
            returned = bytes.returned();
            rejection = bytes.charge(byteSize);
        }
        log(failure);
    }

    /** Allocates from the upstream. If it throws, nothing is allocated. */
    long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        Exception failure = null;
        while (true) {
            final long returned = bytes.returned();
            try {
                final long address = pending.allocate(upstream, byteSize, byteAlignment, stream);
                log(failure);
                return address;
            } catch (OutOfMemoryException e) {
                failure = reap(failure);
                // Another thread may have returned memory, too.
                if (bytes.returned() <= returned) {
                    suppress(e, failure);
                    throw e;
                }
            }
        }
    }

    /** Reaps; returns the first exception so far, with the later ones suppressed. */
    private @Nullable Exception reap(@Nullable Exception before) {
        try {
            pending.reap();
        } catch (Exception e) {
            if (before == null) {
                return e;
            }
            suppress(before, e);
        }
        return before;
    }

    @SuppressWarnings("ReferenceEquality") // an exception may be thrown twice, but not be suppressed by itself
    private static void suppress(Exception thrown, @Nullable Exception other) {
        if (other != null && other != thrown) {
            thrown.addSuppressed(other);
        }
    }

    private void log(@Nullable Exception failure) {
        if (failure == null) {
            return;
        }
        try {
            // A log in which the stack ends may keep its locks.
            StackReserve.touch();
            final long number = logLimit.next();
            if (number != 0) {
                LOGGER.log(
                        Level.WARNING,
                        "a reap for an allocation from " + upstream + " failed for another block"
                                + LogLimit.suffix(number),
                        failure);
            }
        } catch (Throwable e) {
            // The request has succeeded, with or without a line.
        }
    }
}
