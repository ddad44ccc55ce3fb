package allocator.onnxruntime;

import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The views of streams of one GPU, by their native handles. Sessions that share a stream, as with ONNX Runtime's option
 * {@code user_compute_stream}, share its view, which the last one closes.
 */
final class StreamViews {
    private final LongFunction<SyncStream> make;

    /** Guarded by this. */
    private final Map<Long, View> views = new HashMap<>();

    private static final class View {
        /** {@code null} until the view is made. */
        private @Nullable SyncStream stream;

        private int users;

        /** Whether the program made the stream, and closes it. */
        private boolean isOfProgram;

        SyncStream stream() {
            return Objects.requireNonNull(stream, "the view is being made");
        }
    }

    /**
     * Creates an empty table.
     *
     * @param make makes a view of the stream with a native handle
     */
    StreamViews(LongFunction<SyncStream> make) {
        this.make = make;
    }

    /**
     * Returns the view of a stream for one more session, which {@linkplain #release releases} it.
     *
     * @throws IllegalArgumentException if the handle is none of a stream of the device
     * @throws allocator.spi.DeviceException if the driver fails
     * @throws NullPointerException if the provider returns no view
     */
    synchronized SyncStream acquire(long handle) {
        final View known = views.get(handle);
        if (known != null && !known.stream().hasEnded()) {
            known.users++;
            return known.stream();
        }
        // The entry first: without heap for it, the view would be open and in no table.
        final View view = new View();
        views.put(handle, view);
        try {
            final SyncStream stream = Objects.requireNonNull(
                    make.apply(handle), () -> "the provider returned no view of stream 0x" + Long.toHexString(handle));
            view.stream = stream;
            view.users = 1;
            return stream;
        } catch (Throwable e) {
            views.remove(handle);
            throw e;
        }
    }

    /** Makes a stream of the program its own view, until the program closes it. Returns it. */
    synchronized SyncStream adopt(SyncStream stream) {
        views.values().removeIf(view -> view.isOfProgram && view.stream().hasEnded());
        final View view = new View();
        view.stream = stream;
        view.isOfProgram = true;
        views.put(stream.handle(), view);
        return stream;
    }

    /**
     * Ends a run on a stream that no other session uses. Another session may have work on a stream that it shares,
     * which the end of a run would not wait for; its memory stays bound to the stream.
     *
     * @param stream its view, as {@link #acquire} returned it
     * @return whether other streams may use the memory now
     * @throws allocator.spi.DeviceException if the driver fails
     */
    synchronized boolean endRun(long handle, SyncStream stream) {
        final View view = views.get(handle);
        if (view == null || !view.stream().equals(stream) || view.users != 1) {
            return false;
        }
        view.stream().onSessionRunEnd();
        return true;
    }

    /** Returns whether a view is a stream of the program, as {@link #adopt} took it. */
    synchronized boolean isOfProgram(long handle, SyncStream stream) {
        final View view = views.get(handle);
        return view != null && view.isOfProgram && view.stream().equals(stream);
    }

    /**
     * Closes the view of a stream if no other session uses it. If that fails, the session still has it, and another
     * call tries again.
     *
     * @param isDone whether its work is done, so that the device is not asked about a stream that may be destroyed
     * @param stream its view, as {@link #acquire} returned it; nothing happens if the program has closed it, and the
     *     device has given another stream its handle
     * @throws allocator.spi.DeviceException if the device cannot confirm that the stream's work is done
     */
    synchronized void release(long handle, SyncStream stream, boolean isDone) {
        final View view = views.get(handle);
        if (view == null || !view.stream().equals(stream)) {
            return;
        }
        if (view.users == 1 && view.isOfProgram) {
            if (!stream.hasEnded()) {
                stream.onSessionRunEnd();
            }
        } else if (view.users == 1) {
            if (isDone) {
                stream.closeIdle();
            } else {
                stream.close();
            }
            views.remove(handle);
        }
        view.users--;
    }
}
