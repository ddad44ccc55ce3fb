package allocator.resource.tracked;

import allocator.provider.support.budget.Budget;
import allocator.provider.support.internal.LogLimit;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * Charges and allocates for a {@link TrackedMemory}. A request without room reaps, and is tried again as long as memory
 * is returned.
 *
 * <p>An exception of such a reap is about another block. It does not end the request: it is suppressed in the exception
 * of a request that finds no room, and logged if the request succeeds. An error ends the request.
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

    /** Charges a new block; returns the failure of a reap, for {@link #allocate}. If it throws, nothing is charged. */
    @Nullable
    Exception charge(long byteSize) {
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
        return failure;
    }

    /** Allocates a block from the upstream. If it throws, the block has its address if it has memory. */
    void allocate(TrackedBlock block, SyncStream stream, @Nullable Exception failureBefore) {
        Exception failure = failureBefore;
        while (block.address() == 0) {
            final long returned = bytes.returned();
            try {
                block.at(upstream.allocate(block.byteSize(), block.byteAlignment(), stream));
            } catch (OutOfMemoryException e) {
                failure = reap(failure);
                // Another thread may have returned memory, too.
                if (bytes.returned() <= returned) {
                    suppress(e, failure);
                    throw e;
                }
            }
        }
        log(failure);
    }

    /** Reaps for a call that has had its effect. */
    void reapOthers() {
        log(reap(null));
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
    static void suppress(Throwable thrown, @Nullable Exception other) {
        if (other != null && other != thrown) {
            thrown.addSuppressed(other);
        }
    }

    private void log(@Nullable Exception failure) {
        final long number = failure == null ? 0 : logLimit.next();
        if (number != 0) {
            LOGGER.log(
                    Level.WARNING,
                    "a reap of memory of " + upstream + " failed for another block than that of the call"
                            + LogLimit.suffix(number),
                    failure);
        }
    }
}
