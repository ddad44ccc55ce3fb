package allocator.provider.support.budget;

import allocator.provider.support.budget.Budget.Status;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** Lists who holds what of a budget. */
public final class BudgetDump {
    /** The most children that are read under the lock. */
    private static final int MOST_READ = 1024;

    /** The most children that are listed, those with the largest charges. */
    private static final int MOST_LISTED = 16;

    private BudgetDump() {}

    /** Returns a line: {@code images: 48.0 MiB (50,331,648 bytes) of 64.0 MiB (67,108,864 bytes) in use, peak ...}. */
    static String describe(String path, Status status) {
        final String limit = status.limit() == Budget.UNLIMITED ? "unlimited memory" : bytes(status.limit());
        return path + ": " + bytes(status.charge()) + " of " + limit + " in use, peak " + bytes(status.peakCharge());
    }

    private static String bytes(long number) {
        final String exact = String.format(Locale.ROOT, "%,d bytes", number);
        return number < 1 << 20 ? exact : String.format(Locale.ROOT, "%.1f MiB (%s)", number / 0x1p20, exact);
    }

    /**
     * {@return the numbers at one moment of the children of a budget to which bytes are charged, those with the largest
     * charges first; at most {@value #MOST_READ}}
     *
     * @param budget the budget
     */
    public static List<Status> holders(Budget budget) {
        final List<Status> holders = new ArrayList<>();
        budget.lock().lock();
        try {
            addHolders(budget, holders);
        } finally {
            budget.lock().unlock();
        }
        holders.sort(Comparator.comparingLong(Status::charge).reversed());
        return holders;
    }

    /** Returns how a shortage names a budget. */
    static String limitedBy(String name) {
        return "the budget " + name;
    }

    /** Returns the exception for a rejected request, with the dump and a report. */
    static OutOfMemoryException exception(
            Budget charged, Status rejection, MemoryInfo memory, long byteSize, String report) {
        final Shortage shortage = Shortage.ofBudget(
                memory,
                byteSize,
                limitedBy(rejection.name()),
                rejection.limit() == Budget.UNLIMITED ? AllocatorStats.UNLIMITED : rejection.limit(),
                rejection.charge());
        return new OutOfMemoryException(
                "The budget " + rejection.name() + " cannot grant " + byteSize + " bytes",
                shortage,
                of(charged, rejection, byteSize) + report,
                null);
    }

    /**
     * Returns the request, every budget from the root to the one that was charged, and the holders of the one that
     * rejected the request. The numbers are of one moment, after the rejection.
     */
    private static String of(Budget charged, Status rejection, long byteSize) {
        final List<Status> levels = new ArrayList<>();
        final List<Status> holders = new ArrayList<>();
        int rejecting = -1;
        charged.lock().lock();
        try {
            for (Budget budget = charged; budget != null; budget = budget.parent()) {
                final Status status = budget.statusLocked(0);
                levels.addFirst(status);
                if (rejecting < 0 && isOf(rejection, status)) {
                    rejecting = levels.size();
                    addHolders(budget, holders);
                }
            }
        } finally {
            charged.lock().unlock();
        }
        final StringBuilder text = new StringBuilder();
        text.append("request of " + byteSize + " bytes to " + charged.path() + '\n');
        for (int level = 0; level < levels.size(); level++) {
            text.append("  ".repeat(level + 1));
            append(text, levels.get(level));
            text.append(levels.size() - level == rejecting ? ", rejected it\n" : "\n");
        }
        appendHolders(text, rejection, holders);
        return text.toString();
    }

    /** A name may occur at several levels; a limit below the charge decides nothing, as it may have changed. */
    private static boolean isOf(Status rejection, Status status) {
        return rejection.name().equals(status.name()) && rejection.limit() == status.limit();
    }

    private static void addHolders(Budget budget, List<Status> holders) {
        for (Budget child = budget.firstHolder();
                child != null && holders.size() < MOST_READ;
                child = child.nextHolder()) {
            holders.add(child.statusLocked(0));
        }
    }

    private static void append(StringBuilder text, Status status) {
        text.append(status.name() + ": " + status.charge() + " of ")
                .append(status.limit() == Budget.UNLIMITED ? "unlimited" : String.valueOf(status.limit()))
                .append(" bytes charged")
                .append(status.pending() > 0 ? ", " + status.pending() + " of them pending" : "")
                .append(status.reservation() > 0 ? ", " + status.reservation() + " reserved" : "")
                .append(", peak " + status.peakCharge() + ", " + status.rejections() + " rejections");
    }

    private static void appendHolders(StringBuilder text, Status rejection, List<Status> holders) {
        if (holders.isEmpty()) {
            return;
        }
        text.append("held below ").append(rejection.name()).append(", the most first:\n");
        holders.sort(Comparator.comparingLong(Status::charge).reversed());
        for (Status holder : holders.subList(0, Math.min(MOST_LISTED, holders.size()))) {
            append(text.append("  "), holder);
            text.append('\n');
        }
        if (holders.size() > MOST_LISTED) {
            final long rest =
                    holders.stream().skip(MOST_LISTED).mapToLong(Status::charge).sum();
            text.append("  " + (holders.size() - MOST_LISTED))
                    .append(holders.size() < MOST_READ ? "" : " or more")
                    .append(" others: " + rest + " bytes charged\n");
        }
    }
}
