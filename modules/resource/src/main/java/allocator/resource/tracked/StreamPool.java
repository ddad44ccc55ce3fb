package allocator.resource.tracked;

import allocator.provider.support.internal.Failures;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Objects;
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
    private final Set<SyncStream> acquired = new HashSet<>();

    /** The idle streams, the longest idle first, with room for all streams. */
    private final ArrayList<SyncStream> idle = new ArrayList<>();

    private boolean isClosed;
    private boolean isCreating;

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
     * @throws IllegalStateException if the pool is closed, or its supplier of streams calls this
     * @throws NullPointerException if the supplier returns {@code null}; nothing is acquired
     */
    public synchronized SyncStream acquire() {
        if (isClosed) {
            throw new IllegalStateException("the stream pool is closed");
        }
        if (idle.isEmpty()) {
            if (acquired.size() == capacity) {
                throw new StreamCapacityException(capacity);
            }
            idle.ensureCapacity(acquired.size() + 1);
            idle.add(createStream());
        }
        final SyncStream stream = idle.getFirst();
        acquired.add(stream);
        idle.removeFirst();
        return stream;
    }

    /** Creates a stream. The pool has the room for one more only, so the supplier cannot acquire one itself. */
    private SyncStream createStream() {
        if (isCreating) {
            throw new IllegalStateException("the supplier of this pool's streams acquires one");
        }
        isCreating = true;
        try {
            return Objects.requireNonNull(create.get(), "the supplier of this pool's streams returned null");
        } finally {
            isCreating = false;
        }
    }

    /**
     * Releases a stream. Work may still be queued on it. One that its user has closed leaves the pool.
     *
     * @param stream an acquired stream of this pool
     * @throws IllegalArgumentException if it is not one
     */
    public synchronized void release(SyncStream stream) {
        if (!acquired.remove(stream)) {
            throw new IllegalArgumentException(stream + " is not acquired from this pool");
        }
        if (!stream.hasEnded()) {
            idle.add(stream);
        }
    }

    /** {@return how many streams are acquired} */
    public synchronized int acquired() {
        return acquired.size();
    }

    /** {@return how many streams are open, acquired or idle} */
    public synchronized int size() {
        return acquired.size() + idle.size();
    }

    /**
     * Closes all streams. A second call closes those whose close has failed.
     *
     * @throws IllegalStateException if streams are acquired; the pool stays open
     * @throws allocator.spi.DeviceException if the driver fails; all streams were tried
     */
    @Override
    public synchronized void close() {
        if (!acquired.isEmpty()) {
            throw new IllegalStateException("streams are acquired: " + acquired.size() + "; release them first");
        }
        isClosed = true;
        final Failures failure = new Failures();
        idle.removeIf(stream -> {
            try {
                stream.close();
                return true;
            } catch (Throwable e) {
                failure.add(e);
                return false;
            }
        });
        failure.throwIfAny();
    }
}
