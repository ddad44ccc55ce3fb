package allocator.resource.tracked;

import allocator.resource.MemoryResource;
import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/** The freed blocks whose uses may not be complete. They are returned to the upstream once they are. */
final class PendingFrees {
    /** How long {@link #reap(Duration)} sleeps between two probes. */
    private static final long PROBE_INTERVAL_NANOS = 50_000;

    private final MemoryResource upstream;
    private final StreamEvents events;
    private final TrackedBytes bytes;
    private final ConcurrentLinkedQueue<TrackedBlock> blocks = new ConcurrentLinkedQueue<>();

    PendingFrees(MemoryResource upstream, StreamEvents events, TrackedBytes bytes) {
        this.upstream = upstream;
        this.events = events;
        this.bytes = bytes;
    }

    void add(TrackedBlock block) {
        blocks.add(block);
    }

    /** Probes every pending block once; returns the bytes returned to the upstream. */
    synchronized long reap() {
        long reaped = 0;
        for (int left = blocks.size(); left > 0; left--) {
            final TrackedBlock block = blocks.poll();
            if (block == null) {
                break;
            }
            boolean isDone = false;
            try {
                isDone = block.isDone(events);
            } finally {
                if (!isDone) {
                    blocks.add(block);
                }
            }
            if (isDone) {
                deallocate(block);
                reaped += block.byteSize();
            }
        }
        return reaped;
    }

    private void deallocate(TrackedBlock block) {
        try {
            upstream.deallocate(block.address(), block.byteSize(), block.byteAlignment());
        } finally {
            bytes.returned(block.byteSize());
        }
    }

    /** Reaps until no block is pending, or the time is over; returns whether no block is pending. */
    boolean reap(Duration atMost) {
        final long start = System.nanoTime();
        reap();
        while (!blocks.isEmpty() && System.nanoTime() - start < atMost.toNanos()) {
            LockSupport.parkNanos(PROBE_INTERVAL_NANOS);
            reap();
        }
        return blocks.isEmpty();
    }
}
