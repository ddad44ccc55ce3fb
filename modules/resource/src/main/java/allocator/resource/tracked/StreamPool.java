package allocator.resource.tracked;

import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;

/**
 * A bounded pool of streams. Streams are created on demand and reused. When all are acquired, {@link #acquire} fails
 * rather than share one. Never waits for work: work queued by the last user of a stream runs before that of the next.
 * Thread-safe.
 */
public final class StreamPool implements AutoCloseable {
    private final int capacity;
    private final Supplier<? extends SyncStream> create;
    private final Deque<SyncStream> idle = new ArrayDeque<>();
    private final Set<SyncStream> acquired = new HashSet<>();
    private boolean isClosed;

    /**
     * Creates a pool without streams.
     *
     * @param capacity the most streams, at least 1
     * @param create creates a stream
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
     * Acquires a stream.
     *
     * @return a stream for the caller's exclusive use until it is released
     * @throws StreamCapacityException if all streams are acquired
     * @throws allocator.spi.DeviceException if the driver cannot create one
     * @throws IllegalStateException if the pool is closed
     */
    public synchronized SyncStream acquire() {
        if (isClosed) {
            throw new IllegalStateException("the stream pool is closed");
        }
        if (idle.isEmpty()) {
            if (acquired.size() == capacity) {
                throw new StreamCapacityException(capacity);
            }
            idle.add(create.get());
        }
        final SyncStream stream = idle.removeFirst();
        acquired.add(stream);
        return stream;
    }

    /**
     * Releases a stream. Work may still be queued on it.
     *
     * @param stream an acquired stream of this pool
     * @throws IllegalArgumentException if it is not one
     */
    public synchronized void release(SyncStream stream) {
        if (!acquired.remove(stream)) {
            throw new IllegalArgumentException(stream + " is not acquired from this pool");
        }
        idle.addLast(stream);
    }

    /**
     * Closes all streams. A second call does nothing.
     *
     * @throws IllegalStateException if streams are acquired; the pool stays open
     */
    @Override
    public synchronized void close() {
        if (!acquired.isEmpty()) {
            throw new IllegalStateException(acquired.size() + " streams are acquired; release them first");
        }
        isClosed = true;
        while (!idle.isEmpty()) {
            idle.removeFirst().close();
        }
    }
}
