package allocator.onnxruntime;

import allocator.onnxruntime.block.BlockSizes;
import allocator.onnxruntime.block.SessionBudget;
import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** One memory of a session as text, for the report of a failed allocation; counts these failures. */
final class MemoryDump {
    private static final int MAX_DUMPED_SIZES = 16;

    private final FailureLog failures;
    private final Allocator target;
    private final SessionBudget budget;
    private final BlockSizes blocks;
    private final LongAdder count = new LongAdder();

    /**
     * @param failures the session's failures, for its name
     * @param target the allocator, whose statistics are dumped
     * @param budget the session's budget
     * @param blocks the session's live blocks
     */
    MemoryDump(FailureLog failures, Allocator target, SessionBudget budget, BlockSizes blocks) {
        this.failures = failures;
        this.target = target;
        this.budget = budget;
        this.blocks = blocks;
    }

    /** Counts a failed allocation. */
    void countFailure() {
        count.increment();
    }

    /** Returns how many allocations have failed. */
    long failures() {
        return count.sum();
    }

    /** Returns the memory's state, after a failure with a cause. */
    String text(Throwable cause) {
        String limit;
        String statistics;
        try {
            final AllocatorStats stats = ExportedAllocator.stats(target);
            limit = limit(stats.limit());
            statistics = stats.toMap().toString();
        } catch (Throwable e) {
            limit = "unknown";
            statistics = "cannot report its statistics: " + Failures.describe(e);
        }
        final StringBuilder text = new StringBuilder();
        text.append("session ").append(failures.session()).append(", model ").append(failures.model());
        text.append(", memory ").append(memory());
        text.append("\nin use ").append(size(budget.used())).append(", peak ").append(size(budget.peak()));
        text.append(", session budget ").append(limit(budget.limit()));
        final SessionBudget shared = budget.parent();
        if (shared != null && shared.limit() >= 0) {
            text.append(", budget of all sessions ").append(limit(shared.limit()));
        }
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

    /** Returns what sessions have in use of the budget that they share, in requested bytes. */
    static String shares(List<ExportedAllocator> sessions) {
        return sessions.stream()
                .filter(session -> session.budget().used() > 0)
                .map(session -> "\n  " + session.session() + ": "
                        + size(session.budget().used()))
                .collect(Collectors.joining());
    }

    private String memory() {
        try {
            return target.info().toString();
        } catch (Throwable e) {
            return "unknown, " + Failures.describe(e);
        }
    }

    private static String limit(long bytes) {
        return bytes == AllocatorStats.UNLIMITED ? "none" : size(bytes);
    }

    static String size(long bytes) {
        final String exact = String.format(Locale.ROOT, "%,d bytes", bytes);
        return bytes < 1 << 20 ? exact : String.format(Locale.ROOT, "%.1f MiB (%s)", bytes / 0x1p20, exact);
    }
}
