package allocator.onnxruntime;

import allocator.provider.support.internal.Failures;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The streams on which ONNX Runtime allocates memory for one session, each as the provider's view of it.
 *
 * <p>ONNX Runtime 1.29 creates a session's streams for each thread that runs it, and destroys those of a thread that
 * has ended at the end of a later run. The driver crashes when it is asked about a destroyed stream, so a view is made
 * for a run and closed by the run's own thread. Whatever is left, of runs of the {@code OrtSession} itself, is closed
 * by the next run that is alone, which does not ask the driver: ONNX Runtime has waited for the work.
 *
 * <p>A stream of the program is its own view, as long as the program has it open. Several runs may use a stream at
 * once, of which the last one ends it. Memory freed on a stream may serve other sessions once that is done.
 */
final class SessionStreams {
    private static final Logger LOG = System.getLogger(SessionStreams.class.getName());

    private final String session;
    private final LongUnaryOperator handles;
    private final StreamViews views;

    private static final Entry[] NONE = {};

    /** Replaced, never changed, under the monitor of this. */
    private volatile Entry[] entries = NONE;

    /** Whether ONNX Runtime has used a stream that is not the program's. Written under the monitor of this. */
    private volatile boolean hasOwn;

    /** The runs that have begun and not ended. Guarded by this. */
    private int runs;

    /** A stream of ONNX Runtime's. */
    private static final class Entry {
        private final long handle;
        private final SyncStream view;

        /** Whose runs use it, of which the last ends it; {@code null} of the program's, replaced but never changed. */
        private volatile @Nullable List<Thread> runners;

        /** Whether memory was allocated on it since the last end of its work. */
        private volatile boolean isUsed;

        /** Whether the view was released, so that it is not this session's any more. */
        private volatile boolean isReleased;

        Entry(long handle, SyncStream view, @Nullable List<Thread> runners) {
            this.handle = handle;
            this.view = view;
            this.runners = runners;
        }

        boolean isOf(Thread thread) {
            final List<Thread> users = runners;
            return users == null || users.contains(thread);
        }

        /** Lets a run of a thread use it; false if all its threads have ended, so that the handle is another's. */
        boolean enter(Thread thread) {
            final List<Thread> others = others(thread);
            if (runners != null && !others.isEmpty()) {
                runners = Stream.concat(others.stream(), Stream.of(thread)).toList();
            }
            return runners == null || !others.isEmpty();
        }

        /** Ends the use by the run of a thread; true if it was the last, which ends the work. */
        boolean leave(Thread thread) {
            final List<Thread> others = others(thread);
            final boolean isUser = runners != null && isOf(thread);
            if (isUser && !others.isEmpty()) {
                runners = others;
            }
            return isUser && others.isEmpty();
        }

        private List<Thread> others(Thread thread) {
            final List<Thread> users = runners;
            return users == null
                    ? List.of()
                    : users.stream()
                            .filter(user -> user.isAlive() && !user.equals(thread))
                            .toList();
        }
    }

    /**
     * Creates an empty table.
     *
     * @param session the session's name, for messages
     * @param handles returns the native handle of an {@code OrtSyncStream}
     * @param views the views of the installation
     */
    SessionStreams(String session, LongUnaryOperator handles, StreamViews views) {
        this.session = session;
        this.handles = handles;
        this.views = views;
    }

    /**
     * Returns the view of an {@code OrtSyncStream}, on which the caller is about to allocate.
     *
     * @throws IllegalArgumentException if it is a stream of another device
     * @throws allocator.spi.DeviceException if the driver fails
     */
    SyncStream of(long ortStream) {
        final long handle = handles.applyAsLong(ortStream);
        for (final Entry entry : entries) {
            if (entry.handle == handle && !entry.isReleased && entry.isOf(Thread.currentThread())) {
                if (!entry.isUsed) {
                    entry.isUsed = true;
                }
                return entry.view;
            }
        }
        return add(handle);
    }

    private synchronized SyncStream add(long handle) {
        Entry[] more = new Entry[entries.length + 1];
        int count = 0;
        for (final Entry entry : entries) {
            if (entry.isReleased) {
                continue;
            }
            if (entry.handle != handle) {
                more[count++] = entry;
            } else if (entry.enter(Thread.currentThread())) {
                entry.isUsed = true;
                return entry.view;
            } else {
                views.release(handle, entry.view, true);
                entry.isReleased = true;
            }
        }
        if (count + 1 < more.length) {
            more = Arrays.copyOf(more, count + 1);
        }
        final SyncStream view = views.acquire(handle);
        final boolean isOfProgram = views.isOfProgram(handle, view);
        final Entry entry = new Entry(handle, view, isOfProgram ? null : List.of(Thread.currentThread()));
        hasOwn |= !isOfProgram;
        entry.isUsed = true;
        more[count] = entry;
        entries = more;
        return entry.view;
    }

    /** Begins a run, or the creation of the session. Waits while another one ends. */
    synchronized void beginRun() {
        runs++;
    }

    /** Waits for the work on streams of the program, as ONNX Runtime does for its own. */
    void flush() {
        for (final Entry entry : entries) {
            if (!entry.isReleased && entry.runners == null) {
                entry.view.flush();
            }
        }
    }

    /** What is known of the session and a stream. */
    enum Use {
        /** The session has not allocated on any stream. */
        UNKNOWN,
        /** All that it allocates is on the stream. */
        ON_IT,
        /** It allocates on others. */
        ON_OTHERS
    }

    /** Returns whether the session runs on a stream. */
    Use use(long handle) {
        Use use = hasOwn ? Use.ON_OTHERS : Use.UNKNOWN;
        for (final Entry entry : entries) {
            if (entry.handle != handle) {
                return Use.ON_OTHERS;
            }
            use = Use.ON_IT;
        }
        return use;
    }

    /**
     * Returns whether work of the session is being captured into a graph, or the driver does not say: a notification of
     * a captured stream cannot be activated. Never throws.
     */
    boolean isCapturing() {
        for (final Entry entry : entries) {
            try (SyncNotification probe = entry.view.createNotification()) {
                probe.activate();
            } catch (Throwable e) {
                return true;
            }
        }
        return false;
    }

    /** Ends a run whose work may go on: memory freed in it stays bound to its stream until a later run ends. */
    synchronized void endLaunch() {
        runs--;
    }

    /**
     * Ends the run of this thread: memory freed on its stream may serve others from here on, and if no other run is in
     * flight, memory freed on any of the session's. Never throws, so that the run's result reaches the caller.
     */
    synchronized void endRun() {
        runs--;
        for (final Entry entry : entries) {
            if (entry.isUsed && !entry.isReleased) {
                end(entry);
            }
        }
    }

    private void end(Entry entry) {
        try {
            if (runs > 0 && !entry.leave(Thread.currentThread())) {
                return;
            }
            entry.isUsed = entry.isOf(Thread.currentThread()) && !views.endRun(entry.handle, entry.view);
            if (!entry.isUsed && !views.isOfProgram(entry.handle, entry.view)) {
                views.release(entry.handle, entry.view, true);
                entry.isReleased = true;
            }
        } catch (Throwable e) {
            // The memory stays bound to the stream: the next end of a run, or of the stream, tries again.
            report(entry, e);
        }
    }

    private void report(Entry entry, Throwable failure) {
        try {
            LOG.log(
                    Level.WARNING,
                    "{0}: the end of a run on {1} cannot be confirmed: {2}",
                    session,
                    entry.view,
                    Failures.describe(failure));
        } catch (Throwable e) {
            // There is no stack or no heap for the line.
        }
    }

    /**
     * Closes the views: waits for their work, and lets other streams use the memory. To be called before ONNX Runtime
     * destroys the streams. A view whose close fails stays, and another call tries again.
     *
     * @throws RuntimeException of the first close that failed, as whatever else the provider throws, after all have
     *     been tried
     */
    synchronized void close() {
        final Failures failures = new Failures();
        boolean isDone = true;
        for (final Entry entry : entries) {
            if (!entry.isReleased) {
                try {
                    views.release(entry.handle, entry.view, !entry.isOf(Thread.currentThread()));
                    entry.isReleased = true;
                } catch (Throwable e) {
                    isDone = false;
                    failures.add(e);
                }
            }
        }
        if (isDone) {
            entries = NONE;
        }
        failures.throwIfAny();
    }
}
