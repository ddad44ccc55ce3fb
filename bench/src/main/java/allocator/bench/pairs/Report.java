package allocator.bench.pairs;

import allocator.bench.pairs.Results.Cell;
import allocator.bench.subject.SubjectType;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Stream;

/** The results as a page of Markdown. */
final class Report {
    private static final String ARENA = SubjectType.ARENA.toString();
    private static final String QUICK = SubjectType.ARENA_QUICK.toString();
    private static final String STREAMS = SubjectType.ARENA_STREAMS.toString();
    private static final String ORT = SubjectType.ORT.toString();
    private static final String NETTY = SubjectType.NETTY_POOLED.toString();
    private static final String MALLOC = SubjectType.MALLOC.toString();
    private static final int LONG_NANOS = 2000;

    private final Results results;
    private final List<String> facts;
    private final List<String> subjects;
    private final StringBuilder text = new StringBuilder();

    Report(Results results, List<String> facts) {
        this.results = results;
        this.facts = facts;
        subjects = Stream.of(SubjectType.values())
                .map(SubjectType::toString)
                .filter(results.subjects()::contains)
                .toList();
    }

    /**
     * What is quoted: processor time where a thread is alone, the time that passed where threads wait for each other.
     */
    static Metric quoted(int threads) {
        return threads == 1 ? Metric.CPU_NS : Metric.WALL_NS;
    }

    @Override
    public String toString() {
        text.setLength(0);
        line("# Allocation and free beside the rivals");
        line("");
        facts.forEach(fact -> line("- " + fact));
        overheads();
        for (final int threads : List.of(1, 2)) {
            times(threads);
        }
        scales();
        required();
        operations();
        memory();
        return text.toString();
    }

    private void overheads() {
        final Cell cell = new Cell(Overheads.NAME, Overheads.NAME, 1);
        line("- clock: asking it twice takes " + number(cell, Metric.P50_NS) + " ns (p99.9 "
                + number(cell, Metric.P999_NS) + "), which is part of each single operation");
        line("- downcall: " + number(cell, Metric.DOWNCALL_NS) + " ns as ort has two in a pair, "
                + number(cell, Metric.CRITICAL_DOWNCALL_NS) + " ns as the mallocs have");
    }

    private void times(int threads) {
        final Metric metric = quoted(threads);
        final List<String> workloads = workloadsWith(metric, threads, Workload.SCALES, false);
        if (workloads.isEmpty()) {
            return;
        }
        final String kind = metric == Metric.CPU_NS ? "processor time of the thread" : "time that passed";
        title(threads == 1 ? "One thread: ns per pair" : threads + " threads on one allocator: ns per pair and thread");
        line("Median of the rounds (lowest–highest), " + kind + ".");
        line("");
        table(
                "subject",
                workloads,
                workload -> workload,
                subject -> workload -> results.text(cell(subject, workload, threads), metric));
        if (results.subjects().contains(ARENA)) {
            line("");
            line("The arena's time over the subject's: below 1 the arena is faster.");
            line("");
            table(
                    "subject",
                    workloads,
                    workload -> workload,
                    subject -> workload -> Numbers.text(
                            results.ratio(cell(ARENA, workload, threads), cell(subject, workload, threads), metric)));
        }
        if (threads > 1) {
            line("");
            line("Millions of pairs in a second, all threads.");
            line("");
            table(
                    "subject",
                    workloads,
                    workload -> workload,
                    subject -> workload -> number(cell(subject, workload, threads), Metric.MILLION_PAIRS_PER_S));
        }
    }

    private void scales() {
        final List<String> workloads = workloadsWith(Metric.CPU_NS, 1, Workload.SCALES, true);
        if (workloads.isEmpty()) {
            return;
        }
        title("More live blocks: ns per pair, one thread");
        line("`small` with so many live blocks; processor time of the thread.");
        line("");
        table(
                "subject",
                workloads,
                workload -> String.format(Locale.ROOT, "%,d", Workload.liveBlocks(workload)),
                subject -> workload -> results.text(cell(subject, workload, 1), Metric.CPU_NS));
    }

    private void operations() {
        title("Single operations, heap and memory held");
        line("`ns` passed and `cpu` of the threads for a pair; percentiles of single operations, in ns, "
                + "the clock included; "
                + "`ext` counts how often memory was taken from the system meanwhile; `heap` is "
                + "bytes allocated on the Java "
                + "heap for a pair; `held` is what the allocator says it holds over the most that lives.");
        for (final String workload : Workload.names()) {
            for (final int threads : List.of(1, 2)) {
                operations(workload, threads);
            }
        }
    }

    private void operations(String workload, int threads) {
        final List<String> measured = subjects.stream()
                .filter(subject -> results.has(cell(subject, workload, threads), Metric.WALL_NS))
                .toList();
        if (measured.isEmpty()) {
            return;
        }
        line("");
        line("### " + workload + (threads == 1 ? ", one thread" : ", " + threads + " threads"));
        line("");
        row(List.of("subject", "ns", "cpu", "p50", "p99", "p99.9", "max", "ext", "heap", "held"));
        rule(9);
        for (final String subject : measured) {
            final Cell cell = cell(subject, workload, threads);
            final List<String> fields = new ArrayList<>(List.of(subject));
            for (final Metric metric : List.of(
                    Metric.WALL_NS,
                    Metric.CPU_NS,
                    Metric.P50_NS,
                    Metric.P99_NS,
                    Metric.P999_NS,
                    Metric.MAX_NS,
                    Metric.EXTENSIONS,
                    Metric.HEAP_BYTES,
                    Metric.HELD_OVER_LIVE)) {
                final boolean isWorst = metric == Metric.MAX_NS || metric == Metric.EXTENSIONS;
                fields.add(isWorst ? Numbers.text(results.high(cell, metric)) : number(cell, metric));
            }
            row(fields);
        }
    }

    private void memory() {
        final List<String> workloads = workloadsWith(Metric.RSS_OVER_LIVE, 1, Workload.PAIRS, true);
        if (workloads.isEmpty()) {
            return;
        }
        title("Memory");
        line("How far the process grows when every block is touched, over the most that lives at once; "
                + "and what each of the "
                + "10,000 live blocks of `small` takes of the Java heap: by the arena's own count, "
                + "and as the heap grew.");
        line("");
        final List<String> columns = new ArrayList<>(workloads);
        columns.add("B/block, own count");
        columns.add("B/block, heap");
        table("subject", columns, column -> column, subject -> column -> {
            if (workloads.contains(column)) {
                return number(cell(subject, column, 1), Metric.RSS_OVER_LIVE);
            }
            return number(
                    cell(subject, Workload.SMALL, 1),
                    column.endsWith("heap") ? Metric.HEAP_BYTES_PER_BLOCK : Metric.TABLE_BYTES);
        });
    }

    private void required() {
        final List<List<String>> rows = new ArrayList<>();
        for (final String ours : List.of(ARENA, QUICK)) {
            for (final String workload : workloadsWith(Metric.CPU_NS, 1, Workload.SCALES, false)) {
                verdict(rows, workload + ": ort / " + ours, ratio(ORT, ours, workload, 1), 3, true);
            }
            for (final String workload : Workload.PAIRS) {
                verdict(rows, workload + ": " + ours + " / malloc", ratio(ours, MALLOC, workload, 1), 1, false);
            }
            verdict(rows, "large: " + ours + " / netty-pooled", ratio(ours, NETTY, Workload.LARGE, 1), 0.15, false);
            verdict(rows, "replay: " + ours + " / netty-pooled", ratio(ours, NETTY, Workload.REPLAY, 1), 0.2, false);
            for (final String workload : Workload.PAIRS) {
                verdict(
                        rows,
                        workload + ", 2 threads: throughput, " + ours + " / ort",
                        results.ratio(cell(ours, workload, 2), cell(ORT, workload, 2), Metric.MILLION_PAIRS_PER_S),
                        3,
                        true);
            }
        }
        growth(rows);
        for (final String workload : Workload.PAIRS) {
            final Cell cell = cell(ARENA, workload, 1);
            if (results.high(cell, Metric.EXTENSIONS) == 0) {
                verdict(rows, workload + ": p99.9 in ns", results.median(cell, Metric.P999_NS), LONG_NANOS, false);
            }
            verdict(rows, workload + ": heap bytes per pair", results.median(cell, Metric.HEAP_BYTES), 0.5, false);
            verdict(
                    rows,
                    workload + ", 2 threads on own streams / 1 thread",
                    results.ratio(cell(STREAMS, workload, 2), cell(STREAMS, workload, 1), Metric.WALL_NS),
                    1.5,
                    false);
        }
        if (rows.isEmpty()) {
            return;
        }
        title("Required");
        row(List.of("what", "bound", "measured", "met"));
        line("|---|---:|---:|---|");
        rows.forEach(this::row);
    }

    /**
     * With more live blocks the caches make every allocator dearer, malloc included, whose work does not depend on
     * their number. What the arena's time over malloc's grows by is the arena's own.
     */
    private void growth(List<List<String>> rows) {
        final String few = Workload.SCALES.getFirst();
        final int fewBlocks = Workload.liveBlocks(few);
        for (final String many : Workload.SCALES.subList(1, Workload.SCALES.size())) {
            final int blocks = Workload.liveBlocks(many);
            verdict(
                    rows,
                    String.format(Locale.ROOT, "%,d live blocks / %,d: arena / malloc", blocks, fewBlocks),
                    ratio(ARENA, MALLOC, many, 1) / ratio(ARENA, MALLOC, few, 1),
                    Math.log(blocks) / Math.log(fewBlocks),
                    false);
        }
    }

    private static void verdict(
            List<List<String>> rows, String what, double measured, double bound, boolean isAtLeast) {
        if (!Double.isNaN(measured)) {
            final boolean isMet = isAtLeast ? measured >= bound : measured <= bound;
            rows.add(List.of(
                    what,
                    (isAtLeast ? "≥ " : "≤ ") + Numbers.text(bound),
                    Numbers.text(measured),
                    isMet ? "yes" : "**no**"));
        }
    }

    private double ratio(String subject, String base, String workload, int threads) {
        return results.ratio(cell(subject, workload, threads), cell(base, workload, threads), quoted(threads));
    }

    private List<String> workloadsWith(Metric metric, int threads, List<String> list, boolean isIn) {
        return Workload.names().stream()
                .filter(workload -> list.contains(workload) == isIn)
                .filter(workload ->
                        subjects.stream().anyMatch(subject -> results.has(cell(subject, workload, threads), metric)))
                .toList();
    }

    private static Cell cell(String subject, String workload, int threads) {
        return new Cell(subject, workload, threads);
    }

    private String number(Cell cell, Metric metric) {
        return Numbers.text(results.median(cell, metric));
    }

    private void table(
            String corner,
            List<String> columns,
            Function<String, String> heading,
            Function<String, Function<String, String>> content) {
        row(Stream.concat(Stream.of(corner), columns.stream().map(heading)).toList());
        rule(columns.size());
        for (final String subject : subjects) {
            final List<String> fields =
                    columns.stream().map(content.apply(subject)).toList();
            if (fields.stream().anyMatch(field -> !field.isEmpty())) {
                row(Stream.concat(Stream.of(subject), fields.stream()).toList());
            }
        }
    }

    private void title(String title) {
        line("");
        line("## " + title);
        line("");
    }

    private void rule(int columns) {
        line("|---|" + "---:|".repeat(columns));
    }

    private void row(List<String> fields) {
        line("| " + String.join(" | ", fields) + " |");
    }

    private void line(String line) {
        text.append(line).append('\n');
    }
}
