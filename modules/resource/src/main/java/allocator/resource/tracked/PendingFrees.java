package allocator.resource.tracked;

import allocator.provider.support.internal.Failures;
import allocator.resource.MemoryResource;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The freed blocks whose uses may not be complete. They are returned to the upstream once they are. If an event fails,
 * or the upstream rejects a block, the block stays and is tried again.
 *
 * <p>The blocks are linked through themselves, so that adding one cannot fail for want of Java heap.
 */
final class PendingFrees {
    /** How long {@link #reap(Duration)} sleeps between two probes. */
    private static final long PROBE_INTERVAL_NANOS = 50_000;

    private final MemoryResource upstream;
    private final StreamEvents events;
    private final TrackedBytes bytes;

    /** Held while the device is called, so that one thread reaps at a time. */
    private final Object reaping = new Object();

    // Guarded by this object
    private @Nullable TrackedBlock first;
    private @Nullable TrackedBlock last;
    private int count;

    PendingFrees(MemoryResource upstream, StreamEvents events, TrackedBytes bytes) {
        this.upstream = upstream;
        this.events = events;
        this.bytes = bytes;
    }

    /** Adds a block that was freed. */
    synchronized void add(TrackedBlock block) {
        block.nextPending = null;
        if (last == null) {
            first = block;
        } else {
            last.nextPending = block;
        }
        last = block;
        count++;
    }

    private synchronized @Nullable TrackedBlock poll() {
        final TrackedBlock block = first;
        if (block != null) {
            first = block.nextPending;
            if (first == null) {
                last = null;
            }
            block.nextPending = null;
            count--;
        }
        return block;
    }

    private synchronized int count() {
        return count;
    }

    /**
     * Probes every pending block once; returns the bytes returned to the upstream. All are tried; the first failure is
     * thrown at the end.
     */
    long reap() {
        synchronized (reaping) {
            long reaped = 0;
            final Failures failure = new Failures();
            for (int left = count(); left > 0; left--) {
                final TrackedBlock block = poll();
                if (block == null) {
                    break;
                }
                try {
                    reaped += reap(block);
                } catch (Throwable e) {
                    failure.add(e);
                }
            }
            failure.throwIfAny();
            return reaped;
        }
    }

    /** Returns a block if its uses are complete, and keeps it otherwise; returns the bytes returned. */
    private long reap(TrackedBlock block) {
        boolean isReturned = false;
        try {
            if (block.isDone(events)) {
                upstream.deallocate(block.address(), block.byteSize(), block.byteAlignment());
                isReturned = true;
            }
        } finally {
            if (!isReturned) {
                add(block);
            }
        }
        if (isReturned) {
            bytes.returned(block.byteSize());
        }
        return isReturned ? block.byteSize() : 0;
    }

    /** Reaps until no block is pending, or the time is over; returns whether no block is pending. */
    boolean reap(Duration atMost) {
        final long start = System.nanoTime();
        final long mostNanos = TimeUnit.NANOSECONDS.convert(atMost);
        boolean isInterrupted = false;
        try {
            reap();
            while (count() > 0 && System.nanoTime() - start < mostNanos) {
                LockSupport.parkNanos(PROBE_INTERVAL_NANOS);
                // Pending, it would end every park at once.
                isInterrupted |= Thread.interrupted();
                reap();
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return count() == 0;
    }
}
