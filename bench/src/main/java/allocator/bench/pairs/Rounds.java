package allocator.bench.pairs;

import allocator.bench.subject.SubjectType;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The JVMs of a run, and what they measure. In a round every subject runs each group of workloads once, one subject
 * right after the other and another one first each time, so that all of them see the same disturbances of the machine.
 */
final class Rounds implements AutoCloseable {
    private final Selection selection;
    private final PrintStream progress;
    private final List<SubjectType> subjects;
    private final List<List<String>> groups;
    private final List<String> leftOut;
    private final Results results = new Results();
    private final Launcher launcher = Launcher.withOwnModules();
    private final String loadBefore = Machine.load();
    private final long begin = System.nanoTime();
    private final Path temporary;

    /** What a round does for a subject and a group of workloads. */
    interface Step {
        void measure(SubjectType type, List<String> group) throws IOException, InterruptedException;
    }

    /**
     * Begins.
     *
     * @param workloads what is measured if the options name no workload
     * @param progress where each step is named before it runs
     * @throws picocli.CommandLine.ParameterException if an option is wrong
     */
    Rounds(Selection selection, List<String> workloads, PrintStream progress) throws IOException {
        selection.check();
        this.selection = selection;
        this.progress = progress;
        subjects = selection.subjects();
        groups = selection.groups(workloads);
        leftOut = new ArrayList<>(selection.leftOut());
        temporary = Files.createTempDirectory("bench");
    }

    /** The subjects that are measured. */
    List<SubjectType> subjects() {
        return subjects;
    }

    /** The workloads that are measured, in the order of their groups. */
    List<String> workloads() {
        return groups.stream().flatMap(List::stream).toList();
    }

    /** What has been measured. */
    Results results() {
        return results;
    }

    /** Does the step for every subject and group that the options include. */
    void round(int round, Step step) throws IOException, InterruptedException {
        final List<SubjectType> order = new ArrayList<>(subjects);
        Collections.rotate(order, 1 - round);
        for (final List<String> group : groups) {
            for (final SubjectType type : order) {
                if (selection.includes(type, group.getFirst())) {
                    progress.println(String.format(
                            Locale.ROOT,
                            "round %d of %d, %s: %s",
                            round,
                            selection.rounds(),
                            String.join(" ", group),
                            type));
                    step.measure(type, group);
                }
            }
        }
    }

    /**
     * Runs a class in a JVM of its own and adds what it measures. A failure is noted for the head of the table.
     *
     * @param main {@link Measurement} or {@link JmhMeasurement}
     * @param plan the last arguments of the class
     */
    void measure(int round, Class<?> main, SubjectType type, List<String> group, List<String> plan)
            throws IOException, InterruptedException {
        final List<String> arguments = new ArrayList<>();
        arguments.add(type.toString());
        arguments.add(String.join(",", group));
        arguments.add(selection.threads(group).stream().map(String::valueOf).collect(Collectors.joining(",")));
        arguments.addAll(plan);
        run(round, main, type, String.join(" ", group), arguments);
    }

    /** Runs a class that measures the memory of a subject under a workload. */
    void measureMemory(SubjectType type, String workload) throws IOException, InterruptedException {
        progress.println("memory, " + workload + ": " + type);
        run(1, Footprint.class, type, workload, List.of(type.toString(), workload));
    }

    /** Measures what measuring itself takes. */
    void measureOverheads(int round) throws IOException, InterruptedException {
        try {
            results.add(round, Overheads.NAME, launch(Overheads.class, null, List.of()));
        } catch (Launcher.FailedException e) {
            leftOut.add("the clock (" + e.getMessage() + ")");
        }
    }

    private void run(int round, Class<?> main, SubjectType type, String workloads, List<String> arguments)
            throws IOException, InterruptedException {
        try {
            results.add(round, type.toString(), launch(main, type, arguments));
        } catch (Launcher.FailedException e) {
            final String how = main == JmhMeasurement.class ? " with JMH" : "";
            final String note = type + " under " + workloads + how + " failed (" + e.getMessage() + ")";
            progress.println(note);
            leftOut.add(note);
        }
    }

    private List<String> launch(Class<?> main, @Nullable SubjectType type, List<String> arguments)
            throws IOException, InterruptedException, Launcher.FailedException {
        final Path library = type == null ? null : selection.library(type).orElse(null);
        return launcher.run(main, type, library, temporary.resolve("output"), arguments);
    }

    /** The lines above the table: where, when, what and how. */
    List<String> facts(String how) {
        final long seconds = (System.nanoTime() - begin) / 1_000_000_000;
        return List.of(
                "machine: " + Machine.description(),
                "JDK: " + Machine.jdk(),
                "commit: " + selection.commit(),
                "date: " + LocalDate.now(ZoneOffset.UTC),
                "load average: " + loadBefore + " before, " + Machine.load() + " after",
                "rivals: " + rivals(),
                "rounds: " + selection.rounds() + ", in " + seconds + " s; " + how,
                "left out: " + (leftOut.isEmpty() ? "nothing" : String.join("; ", leftOut)));
    }

    /** What is not ours, with its release or file. */
    private String rivals() {
        return subjects.stream()
                .map(type -> type
                        + type.version()
                                .or(() -> selection
                                        .library(type)
                                        .map(file -> file.getFileName().toString()))
                                .map(text -> " " + text)
                                .orElse(""))
                .filter(text -> text.contains(" "))
                .collect(Collectors.joining(", "));
    }

    @Override
    public void close() throws IOException {
        try (var files = Files.list(temporary)) {
            files.forEach(Rounds::delete);
        }
        Files.delete(temporary);
    }

    private static void delete(Path file) {
        try {
            Files.delete(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
