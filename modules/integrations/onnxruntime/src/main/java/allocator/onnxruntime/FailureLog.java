package allocator.onnxruntime;

import ai.onnxruntime.OrtException;
import allocator.onnxruntime.support.RecentFailures;
import allocator.provider.support.event.AllocatorEvents;
import allocator.runtime.inspection.FailureSnapshots;
import allocator.spi.OutOfMemoryException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The failed allocations of a session, of all its memories. Each goes to the log and to the flight recorder, and is
 * stored until a Java call takes it; of more than 64 that no call took, the oldest are dropped.
 */
final class FailureLog {
    /** Named after the class that users know from the module's page. */
    private static final Logger LOG = System.getLogger(ExportedAllocator.class.getName());

    private final String session;
    private final String model;

    private final @Nullable FailureSnapshots snapshots;

    private volatile boolean isClosed;

    private final RecentFailures<AllocationFailure> failures = new RecentFailures<>(AllocationFailure::threadId);

    /**
     * Creates an empty log.
     *
     * @param session the session's name, for messages
     * @param model the model's name, for messages
     * @param snapshots of failures for lack of memory; {@code null} for none
     */
    FailureLog(String session, String model, @Nullable FailureSnapshots snapshots) {
        this.snapshots = snapshots;
        this.session = session;
        this.model = model;
    }

    String session() {
        return session;
    }

    String model() {
        return model;
    }

    /** Sets that the session is closed. */
    void setClosed() {
        isClosed = true;
    }

    boolean isClosed() {
        return isClosed;
    }

    /**
     * Reports a failure. Never throws: it runs beneath native code, possibly for lack of heap or stack.
     *
     * @param requester the name of what requested it, {@code null} if it is not known
     * @param dump counts the failure, and describes the memory
     */
    void report(long byteSize, Throwable cause, @Nullable String requester, MemoryDump dump) {
        try {
            dump.countFailure();
            final AllocationFailure failure = new AllocationFailure(
                    session,
                    model,
                    byteSize,
                    Thread.currentThread().getName(),
                    Thread.currentThread().threadId(),
                    cause,
                    requester == null
                            ? dump.text(cause)
                            : "requested by " + requester + ", " + MemoryDump.size(byteSize) + "\n" + dump.text(cause));
            failures.add(failure);
            LOG.log(
                    Level.WARNING,
                    "{0}: cannot allocate {1} bytes{2}: {3}",
                    session,
                    byteSize,
                    requester == null ? "" : " for " + requester,
                    cause);
            LOG.log(Level.DEBUG, failure::dump);
            AllocatorEvents.failed(session, byteSize, cause, failure.dump());
            if (snapshots != null && cause instanceof OutOfMemoryException exhausted) {
                snapshots.exhausted(exhausted, session, requester == null ? "" : requester);
            }
        } catch (Throwable e) {
            // The allocation fails without a report.
        }
    }

    /** Returns and removes the oldest failure of this thread, or else the oldest of all. */
    Optional<AllocationFailure> take() {
        return failures.take();
    }

    /** Takes the failure behind ONNX Runtime's exception, if there is one, and sets it as the exception's cause. */
    OrtException explain(OrtException e) {
        if (e.getCause() == null && String.valueOf(e.getMessage()).contains(ExportedAllocator.FAILED)) {
            failures.takeLatest(failure -> true).ifPresent(failure -> {
                final OrtException ignored = (OrtException) e.initCause(failure.cause());
            });
        }
        return e;
    }

    /** Returns the newest failure, taken or not. */
    Optional<AllocationFailure> last() {
        return failures.last();
    }
}
