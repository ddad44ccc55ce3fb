package allocator.runtime;

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
 * A run of a session: its allocators, and streams that belong to this run until it ends. Memory may outlive the run;
 * its streams may not be used after it.
 */
public final class Run {
    private final Session session;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<StreamPool, TreeMap<Integer, SyncStream>> used = new LinkedHashMap<>();
    private boolean isOver;

    /** The streams of the default device by index, so that asking for one again takes no lock. */
    private volatile @Nullable SyncStream[] defaultStreams = new SyncStream[0];

    Run(Session session) {
        this.session = session;
    }

    /**
     * The session that runs.
     *
     * @return the session
     */
    public Session session() {
        return session;
    }

    /**
     * The session's default allocator.
     *
     * @return as {@link Session#allocator()}
     */
    public ManagedAllocator allocator() {
        return session.allocator();
    }

    /**
     * The session's allocator of a memory.
     *
     * @param location where the memory is
     * @return as {@link Session#allocator(MemoryLocation)}
     */
    public Optional<ManagedAllocator> allocator(MemoryLocation location) {
        return session.allocator(location);
    }

    /**
     * Whether the session's default device has streams.
     *
     * @return whether {@link #stream(int)} works
     */
    public boolean hasStreams() {
        return session.streamPool().filter(StreamPool::hasStreams).isPresent();
    }

    /**
     * A stream of the session's default device. The same index gives the same stream throughout the run; two runs at
     * one time never share a stream.
     *
     * @param index which stream, from 0; a stream is made or taken from the session's pool when it is first asked for
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
                session.streamPool()
                        .orElseThrow(() -> new UnsupportedMemoryException(
                                session + " has no device with memory of its own, so it has no streams")),
                index);
    }

    /**
     * A stream of a device.
     *
     * @param memory the device's default memory, one that the session has
     * @param index which stream, from 0
     * @return the stream
     * @throws IndexOutOfBoundsException if {@code index} is negative
     * @throws UnsupportedMemoryException if the session has no such device or it has no streams
     * @throws IllegalStateException if the run is over
     */
    public SyncStream stream(MemoryInfo memory, int index) {
        return stream(
                session.streamPool(memory.location())
                        .orElseThrow(() -> new UnsupportedMemoryException(
                                session + " has no device with the default memory " + memory)),
                index);
    }

    private SyncStream stream(StreamPool pool, int index) {
        if (index < 0) {
            throw new IndexOutOfBoundsException("stream " + index);
        }
        lock.lock();
        try {
            if (isOver) {
                throw new IllegalStateException("the run of " + session + " is over");
            }
            final TreeMap<Integer, SyncStream> streams = used.computeIfAbsent(pool, ignored -> new TreeMap<>());
            SyncStream stream = streams.get(index);
            if (stream == null) {
                stream = pool.take();
                streams.put(index, stream);
                rememberDefault(pool, index, stream);
            }
            return stream;
        } finally {
            lock.unlock();
        }
    }

    private void rememberDefault(StreamPool pool, int index, SyncStream stream) {
        final int remembered = 64;
        if (index < remembered && session.streamPool().filter(pool::equals).isPresent()) {
            final @Nullable SyncStream[] grown =
                    Arrays.copyOf(defaultStreams, Math.max(defaultStreams.length, index + 1));
            grown[index] = stream;
            defaultStreams = grown;
        }
    }

    /**
     * Ends the run's use of its streams: synchronizes them if asked to, and gives them back. A stream that fails to
     * synchronize is closed, so that no later run meets it.
     *
     * @return how many streams there were
     */
    int end(boolean synchronize, Failures failures) {
        lock.lock();
        try {
            isOver = true;
            defaultStreams = new SyncStream[0];
        } finally {
            lock.unlock();
        }
        int count = 0;
        for (final Map.Entry<StreamPool, TreeMap<Integer, SyncStream>> entry : used.entrySet()) {
            final StreamPool pool = entry.getKey();
            // Backwards, so that the next run finds the first stream on top of the pool.
            for (final SyncStream stream : entry.getValue().descendingMap().values()) {
                count++;
                endStream(pool, stream, synchronize, failures);
            }
        }
        return count;
    }

    private static void endStream(StreamPool pool, SyncStream stream, boolean synchronize, Failures failures) {
        try {
            if (synchronize) {
                pool.end(stream);
            }
        } catch (RuntimeException e) {
            failures.add(e);
            failures.attempt(() -> pool.discard(stream));
            return;
        }
        failures.attempt(() -> pool.giveBack(stream));
    }
}
