package allocator.resource;

import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;

/**
 * A bounded number of streams that are used again. Creates them when they are needed, and never falls back to another
 * stream when there are no more. Never waits for work: what was queued on a stream by its last user is still before
 * what the next one queues.
 */
public final class StreamPool implements AutoCloseable {
    private final int capacity;
    private final Supplier<? extends SyncStream> create;
    private final Deque<SyncStream> idle = new ArrayDeque<>();
    private final Set<SyncStream> out = new HashSet<>();
    private boolean isClosed;

    /**
     * Makes a pool without streams.
     *
     * @param capacity the most streams there can be, at least 1
     * @param create makes one
     * @throws IllegalArgumentException if the capacity is below 1
     */
    public StreamPool(int capacity, Supplier<? extends SyncStream> create) {
        if (capacity < 1) {
            throw new IllegalArgumentException("capacity is " + capacity + ", it must be at least 1");
        }
        this.capacity = capacity;
        this.create = create;
    }

    /**
     * Takes a stream.
     *
     * @return a stream that nobody else has
     * @throws StreamCapacityException if all are out
     * @throws allocator.spi.DeviceException if the driver cannot create one
     * @throws IllegalStateException if the pool is closed
     */
    public synchronized SyncStream acquire() {
        if (isClosed) {
            throw new IllegalStateException("the stream pool is closed");
        }
        if (idle.isEmpty()) {
            if (out.size() == capacity) {
                throw new StreamCapacityException(capacity);
            }
            idle.add(create.get());
        }
        final SyncStream stream = idle.removeFirst();
        out.add(stream);
        return stream;
    }

    /**
     * Gives a stream back. Work may still be queued on it.
     *
     * @param stream a stream of this pool
     * @throws IllegalArgumentException if it is not out
     */
    public synchronized void release(SyncStream stream) {
        if (!out.remove(stream)) {
            throw new IllegalArgumentException(stream + " is not out of this pool");
        }
        idle.addLast(stream);
    }

    /**
     * Closes all streams, after their work is done. A second call does nothing.
     *
     * @throws IllegalStateException if streams are out; the pool stays open
     */
    @Override
    public synchronized void close() {
        if (!out.isEmpty()) {
            throw new IllegalStateException(out.size() + " streams are out; give them back first");
        }
        isClosed = true;
        while (!idle.isEmpty()) {
            idle.removeFirst().close();
        }
    }
}
