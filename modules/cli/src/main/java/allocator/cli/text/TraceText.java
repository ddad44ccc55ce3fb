package allocator.cli.text;

import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.trace.TraceSummary;
import java.io.PrintWriter;
import java.util.List;

/** Prints what a trace holds for people to read; 80 columns wide. */
public final class TraceText {
    /** The streams that are shown. */
    private static final int MOST_STREAMS = 16;

    /** The width of the longest bar of the histogram. */
    private static final int BAR = 24;

    private final Terminal terminal;
    private final PrintWriter out;

    /** Prints to a terminal. */
    public TraceText(Terminal terminal) {
        this.terminal = terminal;
        out = terminal.out();
    }

    /** Prints. */
    public void print(TraceSummary summary) {
        terminal.printHeading(summary.trace(), ", " + Sizes.exact(summary.events()) + " events");
        out.println();
        final int frees = summary.events() - summary.allocations();
        new TextTable("  ", "lrrl")
                .row("allocations", "", Sizes.exact(summary.allocations()), size(summary.allocatedBytes()) + " in all")
                .row("frees", "", Sizes.exact(frees), "")
                .row("live at the end", "", Sizes.exact(summary.liveAtEnd()), "")
                .row("live blocks, peak", "", Sizes.exact(summary.peakLiveBlocks()), "")
                .row(
                        "live bytes, peak",
                        size(summary.peakLiveBytes()),
                        Sizes.exact(summary.peakLiveBytes()),
                        summary.peakEvent() < 0 ? "" : "at event " + Sizes.exact(summary.peakEvent()))
                .lines()
                .forEach(out::println);
        out.println();
        terminal.printTable(new TextTable("  ", "lrrrr")
                .row("lifetime, in events", "shortest", "median", "90 %", "longest")
                .row(
                        "",
                        Sizes.exact(summary.lifetimes().shortest()),
                        Sizes.exact(summary.lifetimes().median()),
                        Sizes.exact(summary.lifetimes().percentile90()),
                        Sizes.exact(summary.lifetimes().longest())));
        out.println();
        printStreams(summary.streams());
        out.println();
        printSizes(summary.sizes());
    }

    private void printStreams(List<TraceSummary.Stream> streams) {
        final TextTable table =
                new TextTable("  ", "lrrr").row("stream", "allocations", "bytes in all", "live bytes, peak");
        for (int i = 0; i < Math.min(streams.size(), MOST_STREAMS); i++) {
            final TraceSummary.Stream stream = streams.get(i);
            table.row(
                    Integer.toString(i),
                    Sizes.exact(stream.allocations()),
                    size(stream.bytes()),
                    size(stream.peakLiveBytes()));
        }
        terminal.printTable(table);
        if (streams.size() > MOST_STREAMS) {
            out.println("  and " + Sizes.exact(streams.size() - MOST_STREAMS) + " more streams; --json has all");
        }
    }

    private void printSizes(List<TraceSummary.Sizes> sizes) {
        final int most =
                sizes.stream().mapToInt(TraceSummary.Sizes::blocks).max().orElse(1);
        final TextTable table = new TextTable("  ", "rrrl").row("size from", "blocks", "bytes in all", "");
        for (final TraceSummary.Sizes range : sizes) {
            table.row(Sizes.human(range.from()), Sizes.exact(range.blocks()), size(range.bytes()), "#".repeat((int)
                            Math.max(1, (long) BAR * range.blocks() / most)));
        }
        terminal.printTable(table);
    }

    private static String size(long bytes) {
        return bytes == Long.MAX_VALUE ? "more than " + Sizes.human(bytes) : Sizes.human(bytes);
    }
}
