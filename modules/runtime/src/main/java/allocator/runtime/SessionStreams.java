package allocator.runtime;

import allocator.runtime.lifetime.Cleanup;
import allocator.spi.MemoryInfo;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The idle streams of a session on one device. They belong to the session, not to threads, so a run on another thread
 * gets the same streams and the memory bound to them.
 */
final class SessionStreams {
    private final RegisteredProvider provider;
    private final MemoryInfo memory;
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<SyncStream> idle = new ArrayDeque<>();
    private boolean isClosed;

    SessionStreams(RegisteredProvider provider, MemoryInfo memory) {
        this.provider = provider;
        this.memory = memory;
    }

    boolean hasStreams() {
        return provider.hasStreams(memory);
    }

    /** Returns the stream that was given back last, or a new one. */
    SyncStream take() {
        final SyncStream stream = poll();
        return stream == null ? provider.createStream(memory) : stream;
    }

    private @Nullable SyncStream poll() {
        lock.lock();
        try {
            return idle.poll();
        } finally {
            lock.unlock();
        }
    }

    /** Synchronizes a stream at the end of a run. */
    void end(SyncStream stream) {
        ProviderCalls.run(provider.name(), "onSessionRunEnd of " + stream, stream::onSessionRunEnd);
    }

    /** Takes a stream back; closes it if the session is closed. */
    void giveBack(SyncStream stream) {
        lock.lock();
        try {
            if (!isClosed) {
                idle.push(stream);
                return;
            }
        } finally {
            lock.unlock();
        }
        discard(stream);
    }

    /** Closes a stream that must not be used again. */
    void discard(SyncStream stream) {
        ProviderCalls.run(provider.name(), "close of " + stream, stream::close);
    }

    /** Closes the idle streams now, and every other one when it is given back. */
    void close() {
        final List<SyncStream> streams;
        lock.lock();
        try {
            isClosed = true;
            streams = new ArrayList<>(idle);
            idle.clear();
        } finally {
            lock.unlock();
        }
        final Cleanup cleanup = new Cleanup();
        streams.forEach(stream -> cleanup.attempt(() -> discard(stream)));
        cleanup.throwIfAny();
    }
}
