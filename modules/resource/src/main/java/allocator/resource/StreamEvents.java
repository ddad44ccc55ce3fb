package allocator.resource;

import allocator.spi.DeviceException;
import allocator.spi.SyncStream;

/**
 * Events on the streams of one device, as tracked memory needs them: recorded, waited for by streams, and polled. Safe
 * for use by any thread.
 */
public interface StreamEvents {
    /**
     * Records all work of a stream so far.
     *
     * @param stream the stream
     * @return an event, to be {@linkplain #release released} once
     * @throws DeviceException if the driver fails
     */
    long record(SyncStream stream);

    /**
     * Lets later work of a stream wait for an event. The host does not wait.
     *
     * @param stream the stream that waits
     * @param event an event
     * @throws DeviceException if the driver fails
     */
    void await(SyncStream stream, long event);

    /**
     * Whether all that an event recorded is done. Does not wait.
     *
     * @param event an event
     * @return whether it is
     * @throws DeviceException if the driver fails, or the work did
     */
    boolean isDone(long event);

    /**
     * Gives an event back. Streams that wait for it already are not disturbed.
     *
     * @param event an event
     */
    void release(long event);
}
