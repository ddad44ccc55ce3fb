package allocator.spi;

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An ordered queue of work on a device, and what it knows of other streams.
 *
 * <p>Terms. A stream's <em>sync id</em> counts the notifications activated on it: 0 before the first. A notification
 * carries what its stream knew when it was activated: for each stream the last sync id waited for, and its own new sync
 * id. A stream that waits for a notification learns all of it, so knowledge passes on through third streams. Memory
 * freed on stream {@code p} at sync id {@code n} may be used by stream {@code q} if and only if
 * {@code q.lastWaitedSyncId(p) > n} (T-03).
 *
 * <p>That bookkeeping is done here, once; a provider adds the device's part. Safe for use by any thread, but the order
 * of work that several threads submit to one stream is theirs to agree on.
 */
public abstract class SyncStream implements AutoCloseable {
    private static final AtomicLong LAST_ID = new AtomicLong();

    private final long id = LAST_ID.incrementAndGet();
    private final MemoryInfo memory;
    private final AtomicLong syncId = new AtomicLong();

    /** Cleared when nobody needs to remember this stream: it has ended, or nobody refers to it. */
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
     * The stream's identity: above zero, rising in order of creation, never used again in this process, unlike the
     * native handle (T-07).
     *
     * @return the id
     */
    public final long id() {
        return id;
    }

    /**
     * The memory whose device runs the stream.
     *
     * @return the info that the stream was created for
     */
    public final MemoryInfo memory() {
        return memory;
    }

    /**
     * How many notifications were activated on this stream.
     *
     * @return the sync id, from 0
     */
    public final long syncId() {
        return syncId.get();
    }

    /**
     * What this stream has waited for.
     *
     * @param producer a stream, open or closed
     * @return the highest sync id of {@code producer} whose notification this stream waited for, directly or through
     *     others; {@code 0} if none. A stream has always waited for itself, and for one that {@linkplain #setEnded has
     *     ended}: {@link Long#MAX_VALUE}
     */
    public final long lastWaitedSyncId(SyncStream producer) {
        final StreamClock known = waited;
        return producer.id == id || producer.hasEnded ? Long.MAX_VALUE : known.syncId(producer.id);
    }

    /**
     * Tells that the work of this stream is done and that no more will come: everybody counts as having waited for all
     * of it, and what was known of it is forgotten. To be called by {@link #close}, once; never where the device could
     * not say that the work is done.
     *
     * <p>A stream that is not ended in this way is remembered until it is garbage.
     */
    protected final void setEnded() {
        hasEnded = true;
        life.clear();
    }

    /** Refers to this stream as long as it must be remembered. */
    final Reference<SyncStream> life() {
        return life;
    }

    /** How many streams this one has waited for and remembers. */
    final int rememberedStreams() {
        return waited.size();
    }

    /** Begins a notification: from here on, what is freed is not covered by it. */
    final long nextSyncId() {
        return syncId.incrementAndGet();
    }

    /** Everything this stream knows, with its own event {@code syncId} added. */
    final StreamClock knowledge(long ownSyncId) {
        return waited.with(this, ownSyncId);
    }

    /** Learns what a notification carries. */
    final void learn(StreamClock knowledge) {
        synchronized (syncId) {
            waited = waited.merge(knowledge);
        }
    }

    /**
     * The device's own handle of the stream.
     *
     * @return the handle, {@code 0} where the device has none
     */
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
     * Waits on the host until all work submitted so far is done. Blocks.
     *
     * @throws DeviceException if the driver fails or the work did
     * @throws IllegalStateException if this stream is closed
     */
    public abstract void flush();

    /**
     * Ends a session's run on this stream: waits until its work is done, and then lets any stream use what was freed on
     * this one (T-04). Blocks.
     *
     * @throws DeviceException if the driver fails or the work did; memory then stays tied to this stream
     * @throws IllegalStateException if this stream is closed
     */
    public abstract void onSessionRunEnd();

    /**
     * Closes the stream, after its work is done. Memory that is tied to it becomes free for any stream (T-05). A second
     * call does nothing. Blocks.
     *
     * @implSpec Calls {@link #setEnded} once the work is done, so that other streams do not remember this one for ever.
     * @throws DeviceException if the driver fails; the stream is closed all the same
     */
    @Override
    public abstract void close();

    @Override
    public String toString() {
        return "stream " + id + " on " + memory;
    }
}
