package allocator.bench.gpu;

import java.io.PrintStream;
import java.util.List;
import java.util.Locale;

/** Tables of Markdown, line by line. */
record MarkdownTable(PrintStream out) {
    /** Prints a heading and the first two lines of a table. */
    void header(String title, String first, List<String> columns) {
        out.println();
        out.println("## " + title);
        out.println();
        line(first, columns);
        out.println("|---|" + "---:|".repeat(columns.size()));
    }

    void line(String name, List<String> cells) {
        out.println("| " + name + " | " + String.join(" | ", cells) + " |");
    }

    /** Returns a figure as cells have it; empty if it was not measured. */
    static String text(double value) {
        return Double.isNaN(value)
                ? ""
                : String.format(Locale.ROOT, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
    }
}
