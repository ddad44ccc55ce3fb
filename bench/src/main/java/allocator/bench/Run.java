package allocator.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs {@link AllocFreePair} in rounds and writes a table. In each round every subject runs once, in a JVM of its own, so
 * that all of them see the same disturbances of the machine; a cell is the median over the rounds of each round's median.
 *
 * <p>Options, all of the form {@code --name=value}: {@code subjects}, {@code workloads} and {@code threads} (lists with
 * commas), {@code rounds}, {@code warmups} and {@code iterations} (of one second), {@code commit} (for the head of the
 * table) and {@code out} (a file name without its ending).
 */
public final class Run {
    private static final String BASELINE = "ort";

    private final List<String> subjects;
    private final List<String> workloads;
    private final List<Integer> threads;
    private final int rounds;
    private final int warmups;
    private final int iterations;
    private final String commit;

    /** What is measured in a cell of the table. */
    private record Key(String workload, int threads, String subject) {}

    /** The rounds of a cell. */
    private static final class Cell {
        private final List<Double> nanos = new ArrayList<>();
        private final List<Double> cpuNanos = new ArrayList<>();
        private final List<Double> heapBytes = new ArrayList<>();

        double nanos() {
            return median(nanos);
        }

        double cpuNanos() {
            return median(cpuNanos);
        }
    }

    private Run(Map<String, String> options) {
        subjects = list(options.getOrDefault("subjects", "ort,arena,cpu-reference,runtime,malloc"));
        workloads = list(options.getOrDefault("workloads", "large,replay,small"));
        threads = list(options.getOrDefault("threads", "1,2")).stream()
                .map(Integer::valueOf)
                .toList();
        rounds = Integer.parseInt(options.getOrDefault("rounds", "3"));
        warmups = Integer.parseInt(options.getOrDefault("warmups", "5"));
        iterations = Integer.parseInt(options.getOrDefault("iterations", "5"));
        commit = options.getOrDefault("commit", "unknown");
    }

    /**
     * Runs the benchmark.
     *
     * @param args the options
     * @throws RunnerException if a benchmark cannot be run
     * @throws IOException if the results cannot be written
     */
    public static void main(String[] args) throws RunnerException, IOException {
        final Map<String, String> options = new LinkedHashMap<>();
        for (final String arg : args) {
            final int equals = arg.indexOf('=');
            if (!arg.startsWith("--") || equals < 0) {
                throw new IllegalArgumentException("not an option of the form --name=value: " + arg);
            }
            options.put(arg.substring(2, equals), arg.substring(equals + 1));
        }
        final String out = options.remove("out");
        new Run(options).run(out == null ? null : Path.of(out));
    }

    private void run(@Nullable Path out) throws RunnerException, IOException {
        final Map<Key, Cell> cells = new LinkedHashMap<>();
        final Cell downcall = new Cell();
        for (int round = 0; round < rounds; round++) {
            for (final int count : threads) {
                for (final String workload : workloads) {
                    for (final String subject : subjects) {
                        add(
                                cells.computeIfAbsent(new Key(workload, count, subject), key -> new Cell()),
                                measure("pair", workload, subject, count));
                    }
                }
            }
            add(downcall, measure("downcall", workloads.getFirst(), "malloc", 1));
        }
        final String table = table(cells, downcall);
        System.out.println(table);
        if (out != null) {
            Files.createDirectories(out.toAbsolutePath().getParent());
            Files.writeString(Path.of(out + ".txt"), table);
            Files.writeString(Path.of(out + ".csv"), csv(cells));
        }
    }

    private Collection<RunResult> measure(String benchmark, String workload, String subject, int threadCount)
            throws RunnerException {
        final OptionsBuilder options = new OptionsBuilder();
        options.include(AllocFreePair.class.getName().replace(".", "\\.") + "\\." + benchmark + "$")
                .param("workload", workload)
                .param("subject", subject)
                .threads(threadCount)
                .forks(1)
                .warmupIterations(warmups)
                .warmupTime(TimeValue.seconds(1))
                .measurementIterations(iterations)
                .measurementTime(TimeValue.seconds(1))
                .addProfiler(GCProfiler.class)
                .addProfiler(CpuTimeProfiler.class)
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true);
        final Collection<RunResult> results = new Runner(options.build()).run();
        System.out.printf(
                Locale.ROOT,
                "%s %s %s, %d threads: %.1f ns%n",
                benchmark,
                workload,
                subject,
                threadCount,
                results.iterator().next().getPrimaryResult().getScore());
        return results;
    }

    private static void add(Cell cell, Collection<RunResult> results) {
        for (final RunResult result : results) {
            cell.nanos.add(result.getPrimaryResult().getStatistics().getPercentile(50));
            result.getSecondaryResults().forEach((name, value) -> {
                if (name.endsWith(CpuTimeProfiler.RESULT)) {
                    cell.cpuNanos.add(value.getStatistics().getPercentile(50));
                } else if (name.endsWith("gc.alloc.rate.norm")) {
                    cell.heapBytes.add(value.getScore());
                }
            });
        }
    }

    private String table(Map<Key, Cell> cells, Cell downcall) {
        final StringBuilder text = new StringBuilder();
        text.append(
                "Allocation and free of one block in the middle of a workload, on one allocator for all threads\n\n");
        text.append("machine   ").append(machine()).append('\n');
        text.append("jdk       ").append(Runtime.version()).append(", ").append(System.getProperty("java.vm.name"));
        text.append('\n').append("commit    ").append(commit).append('\n');
        text.append(String.format(
                Locale.ROOT,
                "rounds    %d, each: every row in a JVM of its own, %d s warm-up, %d s measured%n",
                rounds,
                warmups,
                iterations));
        text.append(String.format(
                Locale.ROOT,
                "downcall  %.1f ns for an empty native call, of which a pair of ort and of malloc has two%n",
                downcall.cpuNanos()));
        text.append(
                "columns   ns/pair: time that passed; cpu ns: processor time of the whole process; medians of rounds\n\n");
        text.append(String.format(
                Locale.ROOT,
                "%-9s %7s  %-14s %8s %17s %7s %8s %7s %11s%n",
                "workload",
                "threads",
                "subject",
                "ns/pair",
                "(low-high)",
                "of ort",
                "cpu ns",
                "of ort",
                "heap B/pair"));
        cells.forEach((key, cell) -> {
            final Cell baseline = cells.get(new Key(key.workload, key.threads, BASELINE));
            text.append(String.format(
                    Locale.ROOT,
                    "%-9s %7d  %-14s %8.1f %17s %7s %8.1f %7s %11.3f%n",
                    key.workload,
                    key.threads,
                    key.subject,
                    cell.nanos(),
                    String.format(
                            Locale.ROOT,
                            "(%.1f-%.1f)",
                            cell.nanos.stream().min(Double::compare).orElse(Double.NaN),
                            cell.nanos.stream().max(Double::compare).orElse(Double.NaN)),
                    baseline == null ? "" : String.format(Locale.ROOT, "%.2fx", cell.nanos() / baseline.nanos()),
                    cell.cpuNanos(),
                    baseline == null ? "" : String.format(Locale.ROOT, "%.2fx", cell.cpuNanos() / baseline.cpuNanos()),
                    median(cell.heapBytes)));
        });
        return text.toString();
    }

    private static String csv(Map<Key, Cell> cells) {
        final StringBuilder text =
                new StringBuilder("workload,threads,subject,round,ns_per_pair,cpu_ns_per_pair,heap_bytes_per_pair\n");
        cells.forEach((key, cell) -> {
            for (int round = 0; round < cell.nanos.size(); round++) {
                text.append(String.format(
                        Locale.ROOT,
                        "%s,%d,%s,%d,%.2f,%.2f,%.4f%n",
                        key.workload,
                        key.threads,
                        key.subject,
                        round + 1,
                        cell.nanos.get(round),
                        cell.cpuNanos.get(round),
                        cell.heapBytes.get(round)));
            }
        });
        return text.toString();
    }

    private static String machine() {
        final String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        return cpu() + ", " + Runtime.getRuntime().availableProcessors() + " processors, " + system;
    }

    private static String cpu() {
        final Path info = Path.of("/proc/cpuinfo");
        if (!Files.isReadable(info)) {
            return "unknown CPU";
        }
        try (var lines = Files.lines(info)) {
            return lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse("unknown CPU");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static double median(List<Double> values) {
        final double[] sorted =
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return sorted.length == 0 ? Double.NaN : sorted[sorted.length / 2];
    }

    private static List<String> list(String text) {
        return Arrays.asList(text.split(",", -1));
    }
}
