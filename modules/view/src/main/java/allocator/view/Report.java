package allocator.view;

import java.util.List;

/**
 * Tables to be shown, each with a bar beside a row.
 *
 * @param subtitle what stands below the title
 * @param tables the tables, in their order
 */
public record Report(String subtitle, List<Table> tables) {
    /** Copies the list. */
    public Report {
        tables = List.copyOf(tables);
    }

    /**
     * A table.
     *
     * @param title what stands above it
     * @param head the headings of its columns; the first column is aligned to the left, others to the right
     * @param rows its rows
     * @param notes lines below it
     */
    public record Table(String title, List<String> head, List<Row> rows, List<String> notes) {
        /** Copies the lists. */
        public Table {
            head = List.copyOf(head);
            rows = List.copyOf(rows);
            notes = List.copyOf(notes);
        }
    }

    /**
     * A row.
     *
     * @param cells its cells, one for each heading
     * @param bar what its bar is as long as, in comparison to others of the table; 0 for none
     */
    public record Row(List<String> cells, long bar) {
        /** Copies the list. */
        public Row {
            cells = List.copyOf(cells);
        }
    }
}
