package allocator.bench.pairs;

import allocator.bench.pairs.Figures.Row;
import allocator.bench.subject.SubjectType;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/** The figures of {@link Rivals} as a page of Markdown: a table for each metric and number of threads. */
final class RivalsTable {
    private static final String ARENA = SubjectType.ARENA.toString();

    /** What is measured, and what the page says of it. */
    private static final List<Section> SECTIONS = List.of(
            new Section(Rivals.CPU_NS, "ns per pair, processor time", true),
            new Section(Rivals.WALL_NS, "ns per pair and thread, time that passed", true),
            new Section(Rivals.P50_NS, "ns of a single operation, the clock included, half of them", false),
            new Section(Rivals.P99_NS, "ns of a single operation, 99 of 100", false),
            new Section(Rivals.P999_NS, "ns of a single operation, 999 of 1,000", false),
            new Section(Rivals.MAX_NS, "ns of the longest operation", false),
            new Section(Rivals.HEAP_BYTES, "bytes of the Java heap per pair", false),
            new Section(Rivals.RESIDENT_OVER_LIVE, "resident memory over the most that lives, all touched", false),
            new Section(Rivals.HELD_OVER_LIVE, "memory held, as the allocator says, over the most that lives", false),
            new Section(Rivals.HEAP_PER_BLOCK, "bytes of the Java heap for each live block", false));

    private final Figures figures;
    private final List<String> subjects;
    private final StringBuilder text = new StringBuilder();

    /** @param hasRatio whether the arena's figure over the subject's is shown as well */
    private record Section(String metric, String title, boolean hasRatio) {}

    RivalsTable(Figures figures) {
        this.figures = figures;
        subjects = Stream.of(SubjectType.values())
                .map(SubjectType::toString)
                .filter(name ->
                        figures.rows().stream().anyMatch(row -> row.subject().equals(name)))
                .toList();
    }

    /** The tables, in the order of the metrics. */
    String toMarkdown() {
        for (final Section section : SECTIONS) {
            figures.rows().stream()
                    .filter(row -> row.metric().equals(section.metric))
                    .mapToInt(Row::threads)
                    .distinct()
                    .sorted()
                    .forEach(threads -> add(section, threads));
        }
        return text.toString();
    }

    private void add(Section section, int threads) {
        text.append("\n## ").append(threads == 1 ? "One thread: " : threads + " threads: ");
        text.append(section.title).append("\n\n");
        table(section, threads, figures::text);
        if (section.hasRatio && subjects.contains(ARENA)) {
            text.append("\nThe arena's over the subject's: below 1 the arena is faster.\n\n");
            table(section, threads, row -> figures.ratio(row.of(ARENA), row));
        }
    }

    private void table(Section section, int threads, Function<Row, String> cell) {
        final List<String> workloads = Workload.names().stream()
                .filter(workload -> subjects.stream()
                        .anyMatch(subject -> figures.has(new Row(subject, workload, threads, section.metric))))
                .toList();
        row("subject", workloads);
        text.append("|---|").append("---:|".repeat(workloads.size())).append('\n');
        for (final String subject : subjects) {
            final List<String> cells = workloads.stream()
                    .map(workload -> cell.apply(new Row(subject, workload, threads, section.metric)))
                    .toList();
            if (cells.stream().anyMatch(one -> !one.isEmpty())) {
                row(subject, cells);
            }
        }
    }

    private void row(String name, List<String> cells) {
        text.append("| ")
                .append(name)
                .append(" | ")
                .append(String.join(" | ", cells))
                .append(" |\n");
    }
}
