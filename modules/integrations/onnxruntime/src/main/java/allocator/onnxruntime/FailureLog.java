package allocator.onnxruntime;

import ai.onnxruntime.OrtException;
import allocator.onnxruntime.block.BlockSizes;
import allocator.onnxruntime.block.SessionBudget;
import allocator.onnxruntime.support.RecentFailures;
import allocator.provider.support.StackReserve;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;

/**
 * The failed allocations of one exported allocator. Each goes to the log and to the flight recorder, and is stored
 * until a Java call takes it; of more than 64 that no call took, the oldest are dropped.
 */
final class FailureLog {
    /** Named after the class that users know from the module's page. */
    private static final Logger LOG = System.getLogger(ExportedAllocator.class.getName());

    private static final int MAX_DUMPED_SIZES = 16;

    private final String session;
    private final String model;
    private final Allocator target;
    private final SessionBudget budget;
    private final BlockSizes blocks;
    private final LongAdder count = new LongAdder();

    private final RecentFailures<AllocationFailure> failures = new RecentFailures<>(AllocationFailure::threadId);

    /**
     * Creates an empty log.
     *
     * @param session the session's name, for messages
     * @param model the model's name, for messages
     * @param target the allocator, whose statistics are dumped
     * @param budget the session's budget
     * @param blocks the session's live blocks
     */
    FailureLog(String session, String model, Allocator target, SessionBudget budget, BlockSizes blocks) {
        this.session = session;
        this.model = model;
        this.target = target;
        this.budget = budget;
        this.blocks = blocks;
    }

    /** Reports a failure. Never throws: it runs beneath native code, possibly for lack of heap or stack. */
    void report(long byteSize, Throwable cause) {
        try {
            count.increment();
            // A log in which the stack ends may keep its locks.
            StackReserve.touch();
            final AllocationFailure failure = new AllocationFailure(
                    session,
                    model,
                    byteSize,
                    Thread.currentThread().getName(),
                    Thread.currentThread().threadId(),
                    cause,
                    dump(cause));
            failures.add(failure);
            LOG.log(Level.WARNING, "{0}: cannot allocate {1} bytes: {2}", session, byteSize, cause);
            LOG.log(Level.DEBUG, failure::dump);
            emit(failure);
        } catch (Throwable e) {
            // The allocation fails all the same, without a report.
        }
    }

    private static void emit(AllocationFailure failure) {
        final SessionEvents.Failure event = new SessionEvents.Failure();
        if (event.isEnabled()) {
            event.session = failure.session();
            event.model = failure.model();
            event.byteSize = failure.byteSize();
            event.reason = String.valueOf(failure.cause().getMessage());
            event.dump = failure.dump();
            event.commit();
        }
    }

    private String dump(Throwable cause) {
        String limit;
        String statistics;
        try {
            final AllocatorStats stats = ExportedAllocator.stats(target);
            limit = limit(stats.limit());
            statistics = stats.toMap().toString();
        } catch (RuntimeException | Error e) {
            limit = "unknown";
            statistics = "cannot report its statistics: " + e;
        }
        final StringBuilder text = new StringBuilder();
        text.append("session ").append(session).append(", model ").append(model);
        text.append("\nin use ").append(size(budget.used())).append(", peak ").append(size(budget.peak()));
        text.append(", session budget ").append(limit(budget.limit()));
        text.append("; allocator limit ").append(limit);
        text.append("\nlive blocks ").append(blocks.count()).append(", largest sizes:");
        blocks.countBySize().descendingMap().entrySet().stream()
                .limit(MAX_DUMPED_SIZES)
                .forEach(entry -> text.append("\n  ")
                        .append(entry.getValue())
                        .append(" of ")
                        .append(entry.getKey()));
        text.append("\nallocator ").append(statistics);
        if (cause instanceof OutOfMemoryException exhausted && !exhausted.dump().isEmpty()) {
            text.append('\n').append(exhausted.dump());
        }
        return text.toString();
    }

    private static String limit(long bytes) {
        return bytes == AllocatorStats.UNLIMITED ? "none" : size(bytes);
    }

    private static String size(long bytes) {
        final String exact = String.format(Locale.ROOT, "%,d bytes", bytes);
        return bytes < 1 << 20 ? exact : String.format(Locale.ROOT, "%.1f MiB (%s)", bytes / 0x1p20, exact);
    }

    /** Returns how many allocations have failed. */
    long count() {
        return count.sum();
    }

    /** Returns and removes the oldest failure of this thread, or else the oldest of all. */
    Optional<AllocationFailure> take() {
        return failures.take();
    }

    /** Takes the failure behind ONNX Runtime's exception, if there is one, and sets it as the exception's cause. */
    OrtException explain(OrtException e) {
        if (e.getCause() == null && String.valueOf(e.getMessage()).contains(ExportedAllocator.FAILED)) {
            take().ifPresent(failure -> {
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
