package allocator.onnxruntime.ep;

import ai.onnxruntime.OrtException;
import allocator.onnxruntime.OnnxRuntimeException;
import allocator.onnxruntime.ep.abi.FailureSink;
import allocator.onnxruntime.support.RecentFailures;
import allocator.provider.support.internal.Failures;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The failures of the callbacks of one library: each goes to the log, and is stored until a Java call takes it. */
final class CallbackFailures {
    private static final Logger LOG = System.getLogger("allocator.onnxruntime.ep");

    private static final Pattern NUMBER = Pattern.compile("\\[failure (\\d{1,18}) of java\\.allocator]");

    /** What ONNX Runtime's exception says of an allocation, which has no text of its own. */
    private static final String ALLOCATION = "cannot allocate; the cause of this exception has the numbers; "
            + "if it has none, PluginLibrary.explained(e) sets it";

    /** The callbacks whose failure ONNX Runtime reports with that text. */
    private static final Set<String> ALLOCATING =
            Set.of("OrtAllocator::Alloc", "OrtAllocator::Reserve", "OrtAllocator::AllocOnStream");

    private final AtomicLong count = new AtomicLong();
    private final RecentFailures<CallbackFailure> failures = new RecentFailures<>(CallbackFailure::threadId);

    CallbackFailures() {}

    /** Returns where the callbacks of one provider report their failures. */
    FailureSink of(String provider) {
        return (callback, cause) -> report(provider, callback, cause);
    }

    private String report(String provider, String callback, Throwable thrown) {
        final long number = count.incrementAndGet();
        // First, as ONNX Runtime cuts long texts.
        final String mark = "[failure " + number + " of java.allocator] ";
        try {
            final Throwable cause = origin(thrown);
            final Thread thread = Thread.currentThread();
            failures.add(new CallbackFailure(number, provider, callback, thread.getName(), thread.threadId(), cause));
            LOG.log(Level.WARNING, "{0}: {1} failed: {2}", provider, callback, cause);
            // A C string ends at the first NUL.
            return mark + (provider + ": " + callback + ": " + Failures.describe(cause)).replace('\0', ' ');
        } catch (Throwable e) {
            return mark + callback + " failed";
        }
    }

    /** A callback that failed since one beneath it did has the exception of that one. */
    private Throwable origin(Throwable thrown) {
        return thrown instanceof OnnxRuntimeException
                ? behind(String.valueOf(thrown.getMessage()))
                        .map(CallbackFailure::cause)
                        .orElse(thrown)
                : thrown;
    }

    /** Returns how many callbacks have failed. */
    long count() {
        return count.get();
    }

    /** Takes the failure behind a text of ONNX Runtime, if there is one. */
    Optional<CallbackFailure> behind(String message) {
        final Matcher mark = NUMBER.matcher(message);
        if (mark.find()) {
            final long number = Long.parseLong(mark.group(1));
            return failures.take(failure -> failure.number() == number);
        }
        return message.contains(ALLOCATION)
                ? failures.takeLatest(failure -> ALLOCATING.contains(failure.callback()))
                : Optional.empty();
    }

    /** Sets the failure behind ONNX Runtime's exception, if there is one, as its cause. */
    OrtException explain(OrtException e) {
        if (e.getCause() == null) {
            behind(String.valueOf(e.getMessage())).ifPresent(failure -> {
                final OrtException ignored = (OrtException) e.initCause(failure.cause());
            });
        }
        return e;
    }

    /** Returns and removes the oldest failure of this thread, or else the oldest of all. */
    Optional<CallbackFailure> take() {
        return failures.take();
    }

    /** Returns the newest failure, taken or not. */
    Optional<CallbackFailure> last() {
        return failures.last();
    }
}
