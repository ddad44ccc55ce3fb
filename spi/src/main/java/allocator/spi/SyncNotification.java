package allocator.spi;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A point in the work of a stream that other streams, or the host, can wait for. A provider implements the device's
 * part, such as an event; this class does the bookkeeping of {@link SyncStream}.
 *
 * <p>Activate it after submitting the work to wait for, then wait any number of times. Activating it again moves the
 * point. A stream has any number of open notifications (T-07). Safe for use by any thread, whichever made it (C-01).
 */
public abstract class SyncNotification implements AutoCloseable {
    private final SyncStream stream;
    private volatile @Nullable StreamClock knowledge;

    /**
     * Makes a notification that is not yet activated.
     *
     * @param stream the stream whose work is waited for
     */
    protected SyncNotification(SyncStream stream) {
        this.stream = Objects.requireNonNull(stream, "stream");
    }

    /** {@return the stream whose work is waited for} */
    public final SyncStream stream() {
        return stream;
    }

    /**
     * Marks the point: everything submitted to the stream so far. The stream's {@link SyncStream#syncId} rises by one.
     *
     * <p>May wait for that work, as on a device without events. Two threads must not activate one notification at the
     * same time: the point could be of one call, and what waits learn of the other (D-02).
     *
     * <p>The id rises before the device records the event, so that memory freed by another thread in between never
     * counts as covered by it.
     *
     * @throws DeviceException if the driver fails; the notification is unchanged, and the sync id is not reused
     * @throws StreamCaptureException if the stream is being captured into a graph (T-10); the same holds of the id
     */
    public final void activate() {
        final long syncId = stream.nextSyncId();
        final StreamClock known = stream.knowledge(syncId);
        record();
        knowledge = known;
    }

    /**
     * Makes later work on {@code consumer} wait for the point, without blocking the host.
     *
     * @param consumer the stream that waits, of a device that can wait for this one; a provider may reject another with
     *     {@link IllegalArgumentException} (D-02)
     * @throws IllegalStateException if this notification was never activated
     * @throws DeviceException if the driver fails; {@code consumer} does not count as having waited
     * @throws StreamCaptureException if {@code consumer} is being captured into a graph (T-10); the same holds
     */
    public final void waitOnDevice(SyncStream consumer) {
        final StreamClock known = requireActivated();
        enqueueWait(consumer);
        consumer.learn(known);
    }

    /**
     * Waits for the point on the host. Blocks.
     *
     * @throws IllegalStateException if this notification was never activated
     * @throws DeviceException if the driver fails or the work did
     */
    public final void waitOnHost() {
        requireActivated();
        await();
    }

    private StreamClock requireActivated() {
        final StreamClock known = knowledge;
        if (known == null) {
            throw new IllegalStateException("a notification of " + stream + " is waited for before it was activated");
        }
        return known;
    }

    /**
     * Records the point on the device.
     *
     * @throws DeviceException if the driver fails
     */
    protected abstract void record();

    /**
     * Makes later work on {@code consumer} wait for the recorded point.
     *
     * @param consumer the stream that waits
     * @throws DeviceException if the driver fails
     */
    protected abstract void enqueueWait(SyncStream consumer);

    /**
     * Blocks until the recorded point is reached.
     *
     * @throws DeviceException if the driver fails or the work did
     */
    protected abstract void await();

    /**
     * Releases the device's part. Does not affect streams that wait already. A second call does nothing.
     *
     * @throws DeviceException if the driver fails; the notification is closed nevertheless
     */
    @Override
    public abstract void close();
}
