package allocator.runtime;

import allocator.runtime.lifetime.Cleanup;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.SyncStream;
import allocator.spi.UnsupportedMemoryException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A run of a session: its allocators, and streams that no other run uses until this one ends. Memory may outlive the
 * run; its streams must not be used after it.
 */
public final class Run {
    private final Session session;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<SessionStreams, TreeMap<Integer, SyncStream>> used = new LinkedHashMap<>();
    private boolean isOver;

    /** The streams of the default device by index, to return one again without a lock. */
    private volatile @Nullable SyncStream[] defaultStreams = new SyncStream[0];

    Run(Session session) {
        this.session = session;
    }

    /**
     * Returns the session.
     *
     * @return the session
     */
    public Session session() {
        return session;
    }

    /**
     * Returns the session's default allocator.
     *
     * @return as {@link Session#allocator()}
     */
    public ManagedAllocator allocator() {
        return session.allocator();
    }

    /**
     * Returns the session's allocator of a memory.
     *
     * @param location where the memory is
     * @return as {@link Session#allocator(MemoryLocation)}
     */
    public Optional<ManagedAllocator> allocator(MemoryLocation location) {
        return session.allocator(location);
    }

    /**
     * Returns whether the session's default device has streams.
     *
     * @return whether {@link #stream(int)} works
     */
    public boolean hasStreams() {
        return session.streams().filter(SessionStreams::hasStreams).isPresent();
    }

    /**
     * Returns a stream of the session's default device. One index returns the same stream throughout the run;
     * concurrent runs never share a stream.
     *
     * @param index the index, from 0; at its first use a stream is created, or taken from the session's idle streams
     * @return the stream
     * @throws IndexOutOfBoundsException if {@code index} is negative
     * @throws UnsupportedMemoryException if the device has no streams
     * @throws IllegalStateException if the run is over
     */
    public SyncStream stream(int index) {
        final @Nullable SyncStream[] known = defaultStreams;
        if (index >= 0 && index < known.length) {
            final SyncStream stream = known[index];
            if (stream != null) {
                return stream;
            }
        }
        return stream(
                session.streams()
                        .orElseThrow(() -> new UnsupportedMemoryException(
                                session + " has no device with memory of its own, so it has no streams")),
                index);
    }

    /**
     * Returns a stream of a device.
     *
     * @param memory the device's default memory
     * @param index the index, from 0
     * @return the stream
     * @throws IndexOutOfBoundsException if {@code index} is negative
     * @throws UnsupportedMemoryException if the session has no such device or it has no streams
     * @throws IllegalStateException if the run is over
     */
    public SyncStream stream(MemoryInfo memory, int index) {
        return stream(
                session.streams(memory.location())
                        .orElseThrow(() -> new UnsupportedMemoryException(
                                session + " has no device with the default memory " + memory)),
                index);
    }

    private SyncStream stream(SessionStreams owner, int index) {
        if (index < 0) {
            throw new IndexOutOfBoundsException("stream " + index);
        }
        lock.lock();
        try {
            if (isOver) {
                throw new IllegalStateException("the run of " + session + " is over");
            }
            final TreeMap<Integer, SyncStream> streams = used.computeIfAbsent(owner, ignored -> new TreeMap<>());
            SyncStream stream = streams.get(index);
            if (stream == null) {
                stream = owner.take();
                streams.put(index, stream);
                rememberDefault(owner, index, stream);
            }
            return stream;
        } finally {
            lock.unlock();
        }
    }

    private void rememberDefault(SessionStreams owner, int index, SyncStream stream) {
        final int remembered = 64;
        if (index < remembered && session.streams().filter(owner::equals).isPresent()) {
            final @Nullable SyncStream[] grown =
                    Arrays.copyOf(defaultStreams, Math.max(defaultStreams.length, index + 1));
            grown[index] = stream;
            defaultStreams = grown;
        }
    }

    /**
     * Ends the run's use of its streams: synchronizes them if requested, and gives them back. A stream that fails to
     * synchronize is closed, so that no later run gets it.
     *
     * @return the number of streams
     */
    int end(boolean synchronize, Cleanup cleanup) {
        lock.lock();
        try {
            isOver = true;
            defaultStreams = new SyncStream[0];
        } finally {
            lock.unlock();
        }
        int count = 0;
        for (final Map.Entry<SessionStreams, TreeMap<Integer, SyncStream>> entry : used.entrySet()) {
            final SessionStreams owner = entry.getKey();
            // Backwards, so that the next run finds the first stream on top.
            for (final SyncStream stream : entry.getValue().descendingMap().values()) {
                count++;
                endStream(owner, stream, synchronize, cleanup);
            }
        }
        return count;
    }

    private static void endStream(SessionStreams owner, SyncStream stream, boolean synchronize, Cleanup cleanup) {
        try {
            if (synchronize) {
                owner.end(stream);
            }
        } catch (RuntimeException e) {
            cleanup.add(e);
            cleanup.attempt(() -> owner.discard(stream));
            return;
        }
        cleanup.attempt(() -> owner.giveBack(stream));
    }
}
