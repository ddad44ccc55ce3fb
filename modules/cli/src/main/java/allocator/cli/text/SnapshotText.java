package allocator.cli.text;

import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.AllocatorState;
import allocator.runtime.snapshot.Snapshot.Event;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.LeakSite;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.runtime.snapshot.Snapshot.User;
import allocator.spi.AllocatorSnapshot.State;
import allocator.view.Breakdown;
import allocator.view.Diagnosis;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Prints a snapshot for people to read: why a request failed, and who has most. */
public final class SnapshotText {
    private static final int MOST_EVENTS = 12;

    private final Terminal terminal;
    private final PrintWriter out;

    /** Prints to a terminal. */
    public SnapshotText(Terminal terminal) {
        this.terminal = terminal;
        out = terminal.out();
    }

    /** Prints. */
    public void print(Snapshot snapshot) {
        terminal.printHeading("snapshot of " + snapshot.scope(), ", taken " + snapshot.takenAt());
        Diagnosis.of(snapshot).ifPresent(diagnosis -> print(diagnosis, snapshot.failure()));
        printLeaks(snapshot.leaks());
        snapshot.allocators().forEach(this::print);
        printHistory(snapshot.history());
    }

    private void printLeaks(@Nullable Leaks leaks) {
        if (leaks == null) {
            return;
        }
        out.println();
        out.println(leaks.closed() + ": " + Sizes.exact(leaks.blocks())
                + (leaks.blocks() == 1 ? " block is live, " : " blocks are live, ") + Sizes.exact(leaks.recorded())
                + " of them recorded");
        if (leaks.sites().isEmpty()) {
            out.println("  - memory.leaks=full, or memory.call_sites=1 of the session, records each block.");
            return;
        }
        out.println();
        final TextTable table =
                new TextTable("  ", "rrrlll").row("requested", "blocks", "oldest", "session", "memory", "call site");
        for (final LeakSite site : leaks.sites()) {
            table.row(
                    Sizes.human(site.bytes()),
                    Sizes.exact(site.blocks()),
                    Sizes.time(1e6 * site.oldestMillis()),
                    site.owner(),
                    site.memory(),
                    site.frame());
        }
        terminal.printTable(table);
        if (leaks.omittedSites() > 0) {
            out.println("  and " + Sizes.exact(leaks.omittedSites()) + " more call sites");
        }
    }

    private void printHistory(List<Event> history) {
        if (history.isEmpty()) {
            return;
        }
        out.println();
        terminal.printHeading(
                "recent events",
                ", " + Sizes.exact(history.size()) + " over "
                        + Sizes.time(1_000.0 * history.getFirst().microsAgo()));
        final TextTable table = new TextTable("  ", "rlrll").row("before", "event", "bytes", "memory", "owner");
        for (final Event event : history.subList(Math.max(0, history.size() - MOST_EVENTS), history.size())) {
            table.row(
                    (event.kind() == Event.Kind.ALLOCATION || event.kind() == Event.Kind.FREE ? "about " : "")
                            + Sizes.time(1_000.0 * event.microsAgo()),
                    event.kind().name().toLowerCase(Locale.ROOT),
                    event.byteSize() == 0 ? "-" : Sizes.human(event.byteSize()),
                    event.memory(),
                    event.owner());
        }
        terminal.printTable(table);
    }

    private void print(Diagnosis diagnosis, @Nullable Failure failure) {
        out.println();
        out.println(diagnosis.headline());
        out.println();
        final TextTable facts = new TextTable("  ", "lrl");
        for (final Diagnosis.Fact fact : diagnosis.facts()) {
            facts.row(fact.name(), fact.bytes() < 0 ? "-" : Sizes.human(fact.bytes()), fact.note());
        }
        terminal.printTable(facts);
        out.println();
        diagnosis.advice().forEach(line -> out.println("  - " + line));
        if (failure != null && !failure.stack().isEmpty()) {
            out.println();
            out.println("  requested by thread " + failure.thread());
            failure.stack().forEach(frame -> out.println("    at " + frame));
        }
    }

    private void print(AllocatorState allocator) {
        out.println();
        final String users =
                allocator.users().stream().limit(3).map(User::owner).collect(Collectors.joining(", "));
        final int more = allocator.users().size() - 3;
        terminal.printHeading(
                allocator.memory().name() + " (" + allocator.memory().location() + ")",
                " of " + allocator.provider() + (users.isEmpty() ? ", unused" : ", used by " + users)
                        + (more > 0 ? " and " + more + " more" : ""));
        if (!allocator.missing().isEmpty()) {
            out.println("  in use " + Sizes.human(allocator.stats().bytesInUse()) + ", held "
                    + Sizes.human(allocator.stats().bytesHeld()) + "; " + allocator.missing());
            return;
        }
        final Breakdown sums = Breakdown.of(allocator.memoryMap());
        final TextTable states = new TextTable("  ", "lrr").row("chunks", "bytes", "largest");
        for (final State state : State.values()) {
            if (sums.bytes(state) > 0 && state != State.UNMAPPED) {
                states.row(
                        state.name().toLowerCase(Locale.ROOT),
                        Sizes.human(sums.bytes(state)),
                        Sizes.human(sums.largest(state)));
            }
        }
        allocator.stats().counters().stream()
                .filter(own -> own.value() > 0)
                .forEach(own -> states.row("less " + own.name().replace("Bytes", ""), Sizes.human(own.value()), "-"));
        terminal.printTable(states);
        for (final Breakdown.By by : Breakdown.By.values()) {
            GroupTables.print(terminal, by, Breakdown.by(by, allocator), true);
        }
    }
}
