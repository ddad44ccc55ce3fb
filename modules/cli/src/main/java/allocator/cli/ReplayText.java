package allocator.cli;

import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.runtime.AllocatorReport.Setting;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkReport;
import allocator.trace.ReplayResult;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Prints the results of replays for people to read: tables for one trace, a row each for several; 80 columns wide. */
final class ReplayText {
    /** Counters of what is rare, memory not taken back, shared or asleep: shown where there is some. */
    private static final Set<String> RARE = Set.of("failedReturns", "unreturnedBytes", "sharedBytes", "asleepBytes");

    /** In place of a figure that an allocator without statistics does not have. */
    private static final String NOT_COUNTED = "not counted";

    private final Terminal terminal;
    private final PrintWriter out;
    private final boolean hasExactBytes;

    ReplayText(Terminal terminal, boolean hasExactBytes) {
        this.terminal = terminal;
        out = terminal.out();
        this.hasExactBytes = hasExactBytes;
    }

    void print(List<ReplayResult> results) {
        final ReplayResult first = results.getFirst();
        if (results.size() == 1) {
            printOne(first);
        } else {
            printRows(results);
        }
        printSettings(first);
    }

    static String where(ReplayResult result) {
        return result.device() + " through " + result.provider();
    }

    private void printOne(ReplayResult result) {
        terminal.printHeading(result.trace(), ", " + Sizes.exact(result.events()) + " events on " + where(result));
        out.println();
        final TextTable memory = new TextTable("  ", "lrrl");
        memory.row("memory", "", "bytes", "");
        size(memory, "requested, peak", result.peakRequestedBytes(), "live blocks, as requested");
        if (result.isCounted()) {
            counted(memory, result);
        } else {
            memory.row("in use and held", NOT_COUNTED, "", "the allocator keeps no statistics");
        }
        terminal.printTable(memory);
        out.println();
        terminal.printTable(new TextTable("  ", "lrrr")
                .row("time per event", "first", "cold", "warm")
                .row(
                        "",
                        Sizes.time(result.nsPerEventFirst()),
                        Sizes.time(result.nsPerEventCold()),
                        Sizes.time(result.nsPerEventWarm())));
        out.println();
        out.println("  " + Sizes.count(result.allocations(), "allocation") + ", " + failures(result) + ", "
                + Sizes.count(result.frees(), "free"));
        final List<AllocatorStats.Counter> counted = result.countersAtEnd().stream()
                .filter(counter -> counter.value() != 0 || !RARE.contains(counter.name()))
                .toList();
        if (!counted.isEmpty()) {
            out.println();
            final TextTable counters = new TextTable("  ", "lrl").row("counters of the allocator", "", "");
            counted.forEach(counter -> counters.row(
                    counter.name(),
                    Sizes.exact(counter.value()),
                    counter.unit().name().toLowerCase(Locale.ROOT)));
            terminal.printTable(counters);
        }
        for (final ShrinkReport.Held part : result.heldAfterShrink()) {
            out.println();
            out.println("  " + Sizes.human(part.bytes()) + " stay after the shrink:");
            out.println("    " + part.reason());
        }
    }

    /** Adds the rows that are read from the allocator's statistics. */
    private static void counted(TextTable memory, ReplayResult result) {
        size(memory, "in use, peak", result.peakInUseBytes(), "live blocks, with padding");
        size(memory, "held, peak", result.peakHeldBytes(), Sizes.ratio(result.heldOverRequested()) + " x requested");
        size(memory, "in use at the end", result.inUseAtEndBytes(), Sizes.count(result.liveAtEnd(), "live block"));
        size(memory, "held at the end", result.heldAtEndBytes(), Sizes.count(result.extensions(), "region"));
        size(
                memory,
                "held after shrink",
                result.bytesHeldAfterShrink(),
                Sizes.count(result.shrinkages(), "region") + " returned");
        size(memory, "largest block", result.maxAllocSize(), "");
    }

    private static void size(TextTable table, String what, long bytes, String remark) {
        table.row(what, Sizes.human(bytes), Sizes.exact(bytes), remark);
    }

    private static String failures(ReplayResult result) {
        return result.failedAllocations() == 0
                ? "none failed"
                : Sizes.exact(result.failedAllocations()) + " failed for lack of memory";
    }

    private void printRows(List<ReplayResult> results) {
        terminal.printHeading(Sizes.exact(results.size()) + " traces", " on " + where(results.getFirst()));
        out.println();
        final boolean hasFailures = results.stream().anyMatch(result -> result.failedAllocations() > 0);
        final TextTable table = new TextTable("  ", "lrrrrrrrr")
                .row("", "", "peak", "peak", "held /", "ns per", "event", "", "")
                .row(
                        "trace",
                        "events",
                        "requested",
                        "held",
                        "req.",
                        "first",
                        "cold",
                        "warm",
                        hasFailures ? "failed" : "");
        for (final ReplayResult result : results) {
            table.row(
                    shortName(result.trace()),
                    Sizes.exact(result.events()),
                    bytes(result.peakRequestedBytes()),
                    result.isCounted() ? bytes(result.peakHeldBytes()) : NOT_COUNTED,
                    Sizes.ratio(result.heldOverRequested()),
                    Sizes.nanos(result.nsPerEventFirst()),
                    Sizes.nanos(result.nsPerEventCold()),
                    Sizes.nanos(result.nsPerEventWarm()),
                    hasFailures ? Sizes.exact(result.failedAllocations()) : "");
        }
        terminal.printTable(table);
    }

    private String bytes(long bytes) {
        return hasExactBytes ? Sizes.exact(bytes) : Sizes.human(bytes);
    }

    static String shortName(String trace) {
        return trace.replaceFirst("\\.gz$", "").replaceFirst("\\.csv$", "");
    }

    private void printSettings(ReplayResult result) {
        final TextTable table = new TextTable("  ", "lrl").row("effective option", "value", "from");
        boolean hasSettings = false;
        for (final Setting setting : result.allocator().settings()) {
            final String effective = setting.effective();
            if (effective != null) {
                table.row(
                        setting.key(),
                        effective,
                        setting.origin() + (setting.isEffective() ? "" : " (requested " + setting.requested() + ")"));
                hasSettings = true;
            }
        }
        if (hasSettings) {
            out.println();
            terminal.printTable(table);
        }
    }
}
