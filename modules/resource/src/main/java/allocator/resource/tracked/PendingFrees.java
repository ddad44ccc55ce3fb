package allocator.resource.tracked;

import allocator.provider.support.Failures;
import allocator.provider.support.ReturnGate;
import allocator.provider.support.StackReserve;
import allocator.resource.MemoryResource;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.resource.TakenBackException;
import allocator.spi.SyncStream;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The freed blocks whose uses may not be complete. They are returned to the upstream once they are. A block leaves the
 * list when the upstream has its memory: if an event or the upstream fails, the block stays and is tried again, unless
 * the upstream hands its memory out again: it had taken it, whatever it threw.
 *
 * <p>The blocks are linked through themselves, so that adding one cannot fail for want of Java heap.
 */
final class PendingFrees {
    /** How long {@link #reap(Duration)} sleeps between two probes. */
    private static final long PROBE_INTERVAL_NANOS = 50_000;

    private final MemoryResource upstream;
    private final StreamEvents events;
    private final TrackedBytes bytes;

    /** Between an allocation and {@link #handedOut}, memory of an unreturned block may be the new block's. */
    private final ReturnGate gate = new ReturnGate();

    /** Held while the device is called, so that one thread reaps at a time. */
    private final Object reaping = new Object();

    // Guarded by this object
    private @Nullable TrackedBlock first;
    private @Nullable TrackedBlock last;
    private int count;

    /** How many of the list the upstream has failed to take. */
    private int unreturned;

    /** The blocks for which the upstream is being called. */
    private @Nullable TrackedBlock returning;

    PendingFrees(MemoryResource upstream, StreamEvents events, TrackedBytes bytes) {
        this.upstream = upstream;
        this.events = events;
        this.bytes = bytes;
    }

    /** Adds a block that was freed, or that the upstream failed to take after {@link #begin}. */
    synchronized void add(TrackedBlock block) {
        end(block);
        block.nextPending = null;
        if (last == null) {
            first = block;
        } else {
            last.nextPending = block;
        }
        last = block;
        count++;
        unreturned += block.isUnreturned ? 1 : 0;
    }

    /**
     * Begins the return of a block that is not in the list; {@link #end} or {@link #add} ends it. Returns false if the
     * upstream has its memory already.
     */
    synchronized boolean begin(TrackedBlock block) {
        if (!block.isTaken) {
            block.isUnreturned = true;
            block.nextPending = returning;
            returning = block;
        }
        return !block.isTaken;
    }

    /** Ends the return of a block, if one has begun. */
    synchronized void end(TrackedBlock block) {
        TrackedBlock previous = null;
        for (TrackedBlock other = returning; other != null; other = other.nextPending) {
            if (other != block) {
                previous = other;
            } else if (previous == null) {
                returning = block.nextPending;
            } else {
                previous.nextPending = block.nextPending;
            }
        }
    }

    /**
     * Allocates from the upstream. No unreturned block is returned meanwhile: the upstream may have taken it, whatever
     * it threw, and hand its memory out.
     */
    long allocate(StreamOrderedMemoryResource from, long byteSize, long byteAlignment, SyncStream stream) {
        gate.enterAllocation();
        try {
            final long address = from.allocate(byteSize, byteAlignment, stream);
            handedOut(address, byteSize);
            return address;
        } finally {
            gate.exitAllocation();
        }
    }

    /** Notes what the upstream has handed out: what it had before, it has taken back, whatever it threw then. */
    private synchronized void handedOut(long address, long byteSize) {
        if (unreturned > 0) {
            markTaken(first, address, byteSize);
        }
        markTaken(returning, address, byteSize);
    }

    private static void markTaken(@Nullable TrackedBlock blocks, long address, long byteSize) {
        for (TrackedBlock block = blocks; block != null; block = block.nextPending) {
            if (block.isUnreturned
                    && (Long.compareUnsigned(address - block.address(), block.byteSize()) < 0
                            || Long.compareUnsigned(block.address() - address, byteSize) < 0)) {
                block.isTaken = true;
            }
        }
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
            unreturned -= block.isUnreturned ? 1 : 0;
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
        StackReserve.touch();
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
            isReturned = block.isDone(events) && deallocate(block);
        } catch (TakenBackException e) {
            isReturned = true;
            throw e;
        } finally {
            if (isReturned) {
                end(block);
                bytes.returned(block.byteSize());
            } else {
                add(block);
            }
        }
        return isReturned ? block.byteSize() : 0;
    }

    /** Returns a block to the upstream; returns false if it may not be returned again during an allocation. */
    private boolean deallocate(TrackedBlock block) {
        final boolean isAgain = block.isUnreturned;
        if (isAgain && !gate.tryEnterReturn()) {
            return false;
        }
        try {
            if (begin(block)) {
                upstream.deallocate(block.address(), block.byteSize(), block.byteAlignment());
            }
        } finally {
            if (isAgain) {
                gate.exitReturn();
            }
        }
        return true;
    }

    /** Reaps until no block is pending, or the time is over; returns whether no block is pending. */
    boolean reap(Duration atMost) {
        StackReserve.touch();
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
