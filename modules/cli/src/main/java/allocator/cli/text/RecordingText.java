package allocator.cli.text;

import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.view.Breakdown;
import allocator.view.TraceProfile;
import allocator.view.recording.RecordedCalls;
import allocator.view.recording.RecordedFailure;
import allocator.view.recording.RecordedSession;
import allocator.view.recording.Recording;
import java.io.PrintWriter;
import java.util.EnumSet;
import java.util.List;
import java.util.regex.Pattern;

/** Prints a recording of the flight recorder for people to read. */
public final class RecordingText {
    private static final int MOST_ROWS = 8;
    private static final Pattern LINE_BREAK = Pattern.compile("\\R");

    private final Terminal terminal;
    private final PrintWriter out;

    /** Prints to a terminal. */
    public RecordingText(Terminal terminal) {
        this.terminal = terminal;
        out = terminal.out();
    }

    /** Prints. */
    public void print(String name, Recording recording) {
        terminal.printHeading(
                name,
                ", " + Sizes.count(recording.allocations(), "allocation") + ", "
                        + Sizes.count(recording.frees(), "free") + ", "
                        + Sizes.count(recording.failures().size(), "failure"));
        if (recording.losses() > 0) {
            out.println("  The recorder has lost events: sums and live blocks are not complete.");
        }
        final TraceProfile profile = recording.profile();
        if (profile.events() > 0) {
            out.println("  peaks: requested " + Sizes.human(profile.peakRequested()) + ", held "
                    + Sizes.human(profile.peakHeld()));
        }
        printCalls(recording.calls());
        printFailures(recording.failures());
        printSessions(recording.sessions());
        recording.liveAtPeak().forEach(state -> printLive("live at the peak", state));
        recording.liveAtEnd().forEach(state -> printLive("live at the end", state));
    }

    /** A name from a recording begins no line of its own. */
    private static String oneLine(String text) {
        return LINE_BREAK.matcher(text).replaceAll(" ");
    }

    private void printCalls(List<RecordedCalls> calls) {
        if (calls.isEmpty()) {
            return;
        }
        out.println();
        final TextTable table =
                new TextTable("  ", "lrrrrrl").row("device", "calls", "failed", "bytes", "total", "longest", "memory");
        for (final RecordedCalls each : calls) {
            table.row(
                    (each.operation() + " " + each.part()).strip(),
                    Sizes.exact(each.calls()),
                    Sizes.exact(each.failed()),
                    Sizes.human(each.bytes()),
                    Sizes.time((double) each.total().toNanos()),
                    Sizes.time((double) each.longest().toNanos()),
                    each.memory().toString());
        }
        terminal.printTable(table);
    }

    private void printFailures(List<RecordedFailure> failures) {
        for (final RecordedFailure failure :
                failures.subList(Math.max(0, failures.size() - MOST_ROWS), failures.size())) {
            out.println();
            out.println(failure.at() + ": " + oneLine(failure.failure().owner()) + " asked for "
                    + Sizes.human(failure.failure().requested()) + " of "
                    + oneLine(failure.memory().toString()) + ": "
                    + oneLine(failure.failure().reason()));
            failure.failure().stack().forEach(frame -> out.println("    at " + frame));
        }
        if (failures.size() > MOST_ROWS) {
            out.println("  and " + Sizes.count(failures.size() - MOST_ROWS, "failure") + " before");
        }
    }

    private void printSessions(List<RecordedSession> sessions) {
        if (sessions.isEmpty()) {
            return;
        }
        out.println();
        final TextTable table = new TextTable("  ", "lllr").row("session", "opened", "closed", "live then");
        for (final RecordedSession session : sessions.subList(0, Math.min(MOST_ROWS, sessions.size()))) {
            table.row(
                    session.name(),
                    session.opened() == null ? "before" : session.opened().toString(),
                    session.closed() == null ? "-" : session.closed().toString(),
                    session.closed() == null ? "-" : Sizes.exact(session.liveBlocks()));
        }
        terminal.printTable(table);
        if (sessions.size() > MOST_ROWS) {
            out.println("  and " + Sizes.exact(sessions.size() - MOST_ROWS) + " more");
        }
    }

    private void printLive(String when, AllocatorState state) {
        out.println();
        terminal.printHeading(when, ", " + state.memory());
        for (final Breakdown.By by : EnumSet.range(Breakdown.By.SESSION, Breakdown.By.SITE)) {
            GroupTables.print(terminal, by, Breakdown.by(by, state), false);
        }
    }
}
