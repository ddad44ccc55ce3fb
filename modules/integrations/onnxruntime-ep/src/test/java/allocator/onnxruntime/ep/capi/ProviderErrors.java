package allocator.onnxruntime.ep.capi;

import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.ep.CallbackFailure;
import allocator.onnxruntime.ep.PluginLibrary;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Throws to the caller of the C API what the provider threw beneath it. A status of ONNX Runtime has a text alone, and
 * a free or a release has no status; {@link PluginLibrary#takeFailure} has the exception.
 */
final class ProviderErrors {
    /** The levels of a recursion that uses some ten kilobytes of stack. */
    private static final int LEVELS = 250;

    private final PluginLibrary library;

    /** Failures of other threads that this object took on the way. Guarded by itself. */
    private final Map<Long, Deque<CallbackFailure>> ofThreads = new HashMap<>();

    ProviderErrors(PluginLibrary library) {
        this.library = library;
    }

    /** Makes calls that return nothing; throws what a callback beneath them threw. */
    void run(Runnable calls) {
        final long ignored = get(() -> {
            calls.run();
            return 0;
        });
    }

    /** Makes calls and returns the result; throws what a callback beneath them threw. */
    long get(LongSupplier calls) {
        final int ignored = touchStack(LEVELS);
        final long before = library.failures();
        final long result;
        try {
            result = calls.getAsLong();
        } catch (OnnxRuntimeException e) {
            final Optional<CallbackFailure> failure = takeOwn();
            throw failure.isPresent() ? sneaky(failure.get().cause()) : e;
        }
        if (library.failures() != before) {
            final Optional<CallbackFailure> failure = takeOwn();
            if (failure.isPresent()) {
                throw sneaky(failure.get().cause());
            }
        }
        return result;
    }

    /**
     * Lets the stack of a thread end here and not in a callback: the JVM ends the process if it ends before the first
     * line of one, and a free that fails has no status.
     */
    private static int touchStack(int levels) {
        if (levels > 0) {
            return 1 + touchStack(levels - 1);
        }
        return 0;
    }

    /** Takes this thread's last failure, and forgets earlier ones, which had it as their cause or consequence. */
    private Optional<CallbackFailure> takeOwn() {
        synchronized (ofThreads) {
            for (Optional<CallbackFailure> next = library.takeFailure();
                    next.isPresent();
                    next = library.takeFailure()) {
                ofThreads
                        .computeIfAbsent(next.get().threadId(), _ -> new ArrayDeque<>())
                        .addLast(next.get());
            }
            final Deque<CallbackFailure> own =
                    ofThreads.remove(Thread.currentThread().threadId());
            return own == null ? Optional.empty() : Optional.of(own.getFirst());
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException sneaky(Throwable thrown) throws E {
        throw (E) thrown;
    }
}
