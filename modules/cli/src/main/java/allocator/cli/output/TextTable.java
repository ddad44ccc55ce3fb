package allocator.cli.output;

import allocator.conformance.runner.output.PlainWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Lines of cells in aligned columns, two blanks apart, without blanks at the end of a line. A cell is one line. */
public final class TextTable {
    /** For each column whether it is aligned to the right; {@code l} or {@code r}. */
    private final String alignment;

    private final String indent;
    private final List<List<String>> rows = new ArrayList<>();
    /**
     * Makes a table without rows.
     *
     * @param indent what each line begins with
     * @param alignment a letter for each column: {@code l} for left, {@code r} for right
     */
    public TextTable(String indent, String alignment) {
        this.indent = indent;
        this.alignment = alignment;
    }
    /**
     * {@return this table, with one more row}
     *
     * @param cells the cells, at most as many as there are columns
     */
    public TextTable row(String... cells) {
        rows.add(Arrays.stream(cells).map(PlainWriter::oneLine).toList());
        return this;
    }
    /** {@return a line for each row, with aligned cells} */
    public List<String> lines() {
        final int[] widths = new int[alignment.length()];
        for (final List<String> row : rows) {
            // The last cell of a row may be as long as it likes: nothing stands to its right.
            final int aligned = row.size() < alignment.length() ? row.size() - 1 : row.size();
            for (int column = 0; column < aligned; column++) {
                widths[column] = Math.max(widths[column], length(row.get(column)));
            }
        }
        return rows.stream().map(row -> line(row, widths)).toList();
    }

    private String line(List<String> row, int[] widths) {
        final StringBuilder line = new StringBuilder(indent);
        for (int column = 0; column < row.size(); column++) {
            final String cell = row.get(column);
            final String padding = " ".repeat(Math.max(0, widths[column] - length(cell)));
            line.append(column == 0 ? "" : "  ");
            line.append(alignment.charAt(column) == 'r' ? padding + cell : cell + padding);
        }
        return line.toString().stripTrailing();
    }

    private static int length(String text) {
        return text.codePointCount(0, text.length());
    }
}
