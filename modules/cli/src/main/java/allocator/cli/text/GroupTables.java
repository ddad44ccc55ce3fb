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

    /** Prints the first groups; nothing if there are none. */
    static void print(Terminal terminal, String by, List<Breakdown.Group> groups) {
        if (groups.isEmpty()) {
            return;
        }
        final TextTable table = new TextTable("  ", "rrl").row("live", "blocks", "by " + by);
        for (final Breakdown.Group group : groups.subList(0, Math.min(MOST_ROWS, groups.size()))) {
            table.row(
                    Sizes.human(group.bytes()),
                    Sizes.exact(group.blocks()),
                    by.equals("size") ? Sizes.human(Long.parseLong(group.name())) : group.name());
        }
        terminal.out().println();
        terminal.printTable(table);
        if (groups.size() > MOST_ROWS) {
            terminal.out().println("  and " + Sizes.exact(groups.size() - MOST_ROWS) + " more");
        }
    }
}
