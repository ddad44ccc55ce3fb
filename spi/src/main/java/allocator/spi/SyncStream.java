package allocator.spi;

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * An ordered queue of work on a device, and a record of the work of other streams that it has waited for.
 *
 * <p>Terms. A stream's <em>sync id</em> counts the notifications activated on it: 0 before the first. A notification
 * carries what its stream knew when it was activated: for each stream the last sync id waited for, and its own new sync
 * id. A stream that waits for a notification learns all of it, so waits are transitive. Memory freed on stream
 * {@code p} at sync id {@code n} may be used by stream {@code q} if and only if {@code q.lastWaitedSyncId(p) > n}
 * (T-03).
 *
 * <p>This class does that bookkeeping; a provider implements the device's part. Safe for use by any thread, but threads
 * that submit work to one stream must agree on its order.
 */
public abstract class SyncStream implements AutoCloseable {
    private static final AtomicLong LAST_ID = new AtomicLong();

    private final long id = LAST_ID.incrementAndGet();
    private final MemoryInfo memory;
    private final AtomicLong syncId = new AtomicLong();

    /** Cleared when clocks need not remember this stream: it has ended, or is unreachable. */
    @SuppressWarnings("this-escape") // a reference calls nothing
    private final WeakReference<SyncStream> life = new WeakReference<>(this);

    private volatile boolean hasEnded;

    /** Changed under the monitor of {@code syncId}. */
    private volatile StreamClock waited = StreamClock.EMPTY;

    /**
     * Makes a stream with a new id.
     *
     * @param memory the memory whose device runs the stream
     */
    protected SyncStream(MemoryInfo memory) {
        this.memory = Objects.requireNonNull(memory, "memory");
    }

    /**
     * {@return the stream's identity: above zero, rising in order of creation, and unlike the native handle never
     * reused in this process (T-07)}
     */
    public final long id() {
        return id;
    }

    /** {@return the memory whose device runs the stream: the info for which the stream was created} */
    public final MemoryInfo memory() {
        return memory;
    }

    /** {@return the sync id, from 0: how many notifications were activated on this stream} */
    public final long syncId() {
        return syncId.get();
    }

    /**
     * {@return how far this stream has waited for another one: the highest sync id of {@code producer} whose
     * notification this stream waited for, directly or through others; {@code 0} if none; {@link Long#MAX_VALUE} for
     * this stream itself and for one that {@linkplain #setEnded has ended}}
     *
     * @param producer a stream, open or closed
     */
    public final long lastWaitedSyncId(SyncStream producer) {
        final StreamClock known = waited;
        return producer.id == id || producer.hasEnded ? Long.MAX_VALUE : known.syncId(producer.id);
    }

    /** {@return how many streams {@link #forEachWaitedStream} would pass now, {@code 0} if it has waited for none} */
    public final int waitedStreams() {
        return waited.size();
    }

    /**
     * Passes the {@linkplain #id id} of each stream that this one has waited for, directly or through others, in
     * ascending order: each stream for which {@link #lastWaitedSyncId} is above zero, except some or all of those that
     * have ended or are unreachable, and this one unless it has waited for itself. Creates no objects.
     *
     * @param action called with each id, by the calling thread; what it throws, this method throws
     */
    public final void forEachWaitedStream(LongConsumer action) {
        waited.forEach(action);
    }

    /**
     * {@return whether this stream {@linkplain #setEnded has ended}, which stays so: its work is done, and every stream
     * counts as having waited for it}
     */
    public final boolean hasEnded() {
        return hasEnded;
    }

    /**
     * Records that the work of this stream is done and that no more will be submitted: every stream counts as having
     * waited for all of it, and clocks forget it. Called by {@link #close}, once; never if the device could not confirm
     * that the work is done.
     *
     * <p>A stream that is not ended in this way is remembered until it is garbage-collected.
     */
    protected final void setEnded() {
        hasEnded = true;
        life.clear();
    }

    /** Returns a reference to this stream that is cleared when it need not be remembered. */
    final Reference<SyncStream> life() {
        return life;
    }

    /** Begins a notification, which does not cover memory freed from here on. */
    final long nextSyncId() {
        return syncId.incrementAndGet();
    }

    /** Returns all that this stream has waited for, and its own sync id. */
    final StreamClock knowledge(long ownSyncId) {
        return waited.with(this, ownSyncId);
    }

    /** Adds what a notification carries. */
    final void learn(StreamClock knowledge) {
        synchronized (syncId) {
            waited = waited.merge(knowledge);
        }
    }

    /** {@return the device's handle of the stream, {@code 0} if the device has none} */
    public abstract long handle();

    /**
     * Creates a notification on this stream, not yet activated. The caller closes it.
     *
     * @return the notification
     * @throws DeviceException if the driver fails
     * @throws IllegalStateException if this stream is closed
     */
    public abstract SyncNotification createNotification();

    /**
     * Waits on the host until all work submitted so far is complete. Blocks. An interrupt of the thread does not end
     * the wait, unless it ends with a {@code DeviceException} (T-04); the same holds for the other methods that wait.
     *
     * @throws DeviceException if the driver fails or the work did
     * @throws StreamCaptureException if this stream is being captured into a graph (T-10)
     * @throws IllegalStateException if this stream is closed
     */
    public abstract void flush();

    /**
     * Ends a session's run on this stream: waits until its work is complete, then lets any stream reuse the memory
     * freed on this one (T-04). Blocks.
     *
     * @throws DeviceException if the driver fails or the work did; the memory stays bound to this stream
     * @throws StreamCaptureException if this stream is being captured into a graph (T-10)
     * @throws IllegalStateException if this stream is closed
     */
    public abstract void onSessionRunEnd();

    /**
     * Waits until the stream's work is complete, and closes it. Memory bound to it may be reused by any stream (T-05).
     * A second call does nothing, or what the device failed to do in the first. Blocks.
     *
     * @implSpec Calls {@link #setEnded} once the work is complete, so that other streams forget this one.
     * @throws DeviceException if the driver fails; the stream is closed nevertheless
     * @throws StreamCaptureException if this stream is being captured into a graph (T-10); it stays open
     */
    @Override
    public abstract void close();

    /**
     * Closes this stream, all of whose work is known to be done. If it is another owner's, who may have destroyed it,
     * the device is not asked about it.
     *
     * @implSpec Calls {@link #close}.
     * @throws DeviceException as {@link #close}
     */
    public void closeIdle() {
        close();
    }

    @Override
    public String toString() {
        return "stream " + id + " on " + memory;
    }
}
