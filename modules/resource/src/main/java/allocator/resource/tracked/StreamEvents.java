package allocator.resource.tracked;

import allocator.spi.DeviceException;
import allocator.spi.SyncStream;

/** Events on one device's streams: recorded, awaited, and polled. {@link TrackedMemory} needs them. Thread-safe. */
public interface StreamEvents {
    /**
     * Records an event behind all work submitted to a stream so far.
     *
     * @param stream the stream
     * @return the event; the caller {@linkplain #release releases} it once
     * @throws DeviceException if the driver fails
     * @throws IllegalStateException if the stream is closed
     */
    long record(SyncStream stream);

    /**
     * Makes later work of a stream wait for an event. The host does not wait.
     *
     * @param stream the waiting stream
     * @param event the event
     * @throws DeviceException if the driver fails
     * @throws IllegalStateException if the waiting stream is closed
     */
    void await(SyncStream stream, long event);

    /**
     * {@return whether all work before an event is complete} Does not wait.
     *
     * @param event the event
     * @throws DeviceException if the driver fails, or the work did
     */
    boolean isDone(long event);

    /**
     * Releases an event. Streams that already wait for it are not affected. Whatever this method throws, the event is
     * released and not released again: a source that fails to destroy it tries again by itself, and reports the failure
     * when it is closed.
     *
     * @param event the event
     */
    void release(long event);

    /**
     * Checks a use of memory that is about to be submitted; the waits for what it follows are queued. Called by a
     * {@linkplain TrackedMemory#checked checked} memory only.
     *
     * @param address first byte
     * @param byteSize number of bytes
     * @param access how the work accesses them
     * @param stream the stream of the work
     * @throws allocator.spi.StreamHazardException if another use of the memory is not ordered before it; the use is not
     *     prepared
     */
    default void check(long address, long byteSize, Access access, SyncStream stream) {}
}
