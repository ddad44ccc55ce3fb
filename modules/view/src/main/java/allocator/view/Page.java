package allocator.view;

import allocator.runtime.snapshot.Snapshot;
import allocator.view.page.PageTemplate;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A page that shows where memory is: one HTML file that needs no network and no server. It has a timeline, a map of
 * regions, fragmentation, and who has most; or the blocks of a plan; or tables. Names from outside are shown as text,
 * whatever they are: control and format characters, and half a surrogate pair, as escapes, so that each page can be
 * encoded.
 */
public final class Page {
    private static final int MOST_BYTES = 8 << 20;

    private Page() {}

    /**
     * {@return the page of a snapshot: the file's text, in UTF-8}
     *
     * @param name the name of the snapshot, for the title
     * @param snapshot the snapshot
     */
    public static String of(String name, Snapshot snapshot) {
        return PageTemplate.fill(name, PageJson.of(name, snapshot));
    }

    /**
     * {@return the page of a trace, with policies side by side: the file's text, in UTF-8}
     *
     * @param name the name of the trace, for the title
     * @param profiles the profiles of the trace, the one to be shown first at the front; at least one
     * @throws IllegalArgumentException if there is no profile
     */
    public static String of(String name, List<TraceProfile> profiles) {
        if (profiles.isEmpty()) {
            throw new IllegalArgumentException("a page needs a profile");
        }
        return PageTemplate.fill(name, PageJson.of(name, profiles));
    }

    /**
     * {@return the page of what was observed, a timeline and the memory at some moments: the file's text, in UTF-8}
     *
     * @param name the name of what was observed, for the title
     * @param timeline the observation
     */
    public static String of(String name, Timeline timeline) {
        return PageTemplate.fill(name, PageJson.of(name, timeline));
    }

    /**
     * {@return the page of a plan: its blocks, time across and offset up, and the largest ones as a table; the file's
     * text, in UTF-8} If the file would be larger than 8 MiB, the smallest blocks are drawn together.
     *
     * @param name the name of what was planned, for the title
     * @param plan the blocks and their offsets
     */
    public static String of(String name, PlannedBlocks plan) {
        int shown = plan.instance().size();
        while (true) {
            final String page = PageTemplate.fill(name, PlanJson.of(name, plan, shown));
            final long bytes = page.getBytes(StandardCharsets.UTF_8).length;
            if (bytes <= MOST_BYTES || shown == 0) {
                return page;
            }
            shown = (int) (0.9 * shown * MOST_BYTES / bytes);
        }
    }

    /**
     * {@return the page of tables: the file's text, in UTF-8}
     *
     * @param name the title
     * @param report the tables
     */
    public static String of(String name, Report report) {
        return PageTemplate.fill(name, ShownJson.of(json -> {
            json.writeStringField("title", name);
            json.writeStringField("kind", "report");
            json.writeStringField("subtitle", report.subtitle());
            json.array("series", List.of(), _ -> {});
            json.array("maps", List.of(), _ -> {});
            json.array(
                    "tables",
                    report.tables(),
                    table -> json.object(_ -> {
                        json.writeStringField("title", table.title());
                        json.array("head", table.head(), json::writeString);
                        json.array(
                                "rows",
                                table.rows(),
                                row -> json.object(_ -> {
                                    json.array("cells", row.cells(), json::writeString);
                                    json.writeNumberField("bar", row.bar());
                                }));
                        json.array("notes", table.notes(), json::writeString);
                    }));
        }));
    }
}
