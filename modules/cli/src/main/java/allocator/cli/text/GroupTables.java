package allocator.cli.text;

import allocator.cli.output.Sizes;
import allocator.cli.output.Terminal;
import allocator.cli.output.TextTable;
import allocator.view.Breakdown;
import java.util.List;

/** Tables of who has most. */
final class GroupTables {
    private static final int MOST_ROWS = 8;

    private GroupTables() {}

    /** Prints the first groups; nothing if there are none. The padding of none is shown if it is not known. */
    static void print(Terminal terminal, Breakdown.By by, List<Breakdown.Group> groups, boolean isPaddingKnown) {
        if (groups.isEmpty()) {
            return;
        }
        final TextTable table = isPaddingKnown
                ? new TextTable("  ", "rrrl").row("requested", "with padding", "blocks", "by " + by)
                : new TextTable("  ", "rrl").row("requested", "blocks", "by " + by);
        for (final Breakdown.Group group : groups.subList(0, Math.min(MOST_ROWS, groups.size()))) {
            final String requested = Sizes.human(group.requested());
            final String blocks = Sizes.exact(group.blocks());
            final String name = by == Breakdown.By.SIZE ? Sizes.human(Long.parseLong(group.name())) : group.name();
            if (isPaddingKnown) {
                table.row(requested, Sizes.human(group.bytes()), blocks, name);
            } else {
                table.row(requested, blocks, name);
            }
        }
        terminal.out().println();
        terminal.printTable(table);
        if (groups.size() > MOST_ROWS) {
            terminal.out().println("  and " + Sizes.exact(groups.size() - MOST_ROWS) + " more");
        }
    }
}
