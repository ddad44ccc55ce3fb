package allocator.bench.pairs;

import allocator.bench.sampling.Processors;
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
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The JVMs of a run, and what they measure. In a round every subject runs each group of workloads once, one subject
 * right after the other and another one first each time, so that all of them see the same disturbances of the machine.
 */
final class Rounds implements AutoCloseable {
    private final Selection selection;
    private final Processors processors;
    private final PrintStream progress;
    private final List<SubjectType> subjects;
    private final List<List<String>> groups;
    private final List<String> leftOut;
    private final Results results = new Results();
    private final Launcher launcher = Launcher.withOwnModules();
    private final String loadBefore = Machine.load();
    private final long begin = System.nanoTime();
    private final Path temporary;

    /** All that is done in a round. */
    interface Body {
        void run(Round round) throws IOException, InterruptedException;
    }

    /** What a round does for a subject and a group of workloads. */
    interface Step {
        void measure(SubjectType type, List<String> group) throws IOException, InterruptedException;
    }

    /**
     * Begins.
     *
     * @param workloads what is measured if the options name no workload
     * @param processors on which of them each lane runs its rounds; the lanes run side by side
     * @param progress where each step is named before it runs
     * @throws picocli.CommandLine.ParameterException if an option is wrong
     */
    Rounds(Selection selection, List<String> workloads, Processors processors, PrintStream progress)
            throws IOException {
        selection.check();
        this.selection = selection;
        this.processors = processors;
        this.progress = progress;
        subjects = selection.subjects();
        groups = selection.groups(workloads);
        leftOut = new ArrayList<>(selection.leftOut());
        temporary = Files.createTempDirectory("bench");
    }

    /**
     * Runs all rounds: each lane runs the next one that none has begun. The first failure ends the rounds of all lanes.
     *
     * @param count how many rounds there are
     */
    void run(int count, Body body) throws IOException, InterruptedException {
        final AtomicInteger begun = new AtomicInteger();
        final ExecutorService executor = Executors.newFixedThreadPool(processors.lanes());
        try {
            final CompletionService<Void> lanes = new ExecutorCompletionService<>(executor);
            for (int i = 0; i < processors.lanes(); i++) {
                final int lane = i;
                lanes.submit(() -> {
                    for (int number = begun.incrementAndGet(); number <= count; number = begun.incrementAndGet()) {
                        body.run(new Round(number, count, lane));
                    }
                    return null;
                });
            }
            for (int i = 0; i < processors.lanes(); i++) {
                lanes.take().get();
            }
        } catch (ExecutionException e) {
            throw unwrapped(e.getCause());
        } finally {
            executor.shutdownNow();
            executor.close();
        }
    }

    private static IllegalStateException unwrapped(@Nullable Throwable cause) throws IOException, InterruptedException {
        return switch (cause) {
            case IOException e -> throw e;
            case InterruptedException e -> throw e;
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null, default -> new IllegalStateException(cause);
        };
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

    /** One round, on the processors of one lane. */
    final class Round {
        private final int number;
        private final int count;
        private final int lane;

        private Round(int number, int count, int lane) {
            this.number = number;
            this.count = count;
            this.lane = lane;
        }

        /** The number of the round, from 1. */
        int number() {
            return number;
        }

        /** Does the step for every subject and group that the options include. */
        void forEach(Step step) throws IOException, InterruptedException {
            final List<SubjectType> order = new ArrayList<>(subjects);
            Collections.rotate(order, 1 - number);
            for (final List<String> group : groups) {
                for (final SubjectType type : order) {
                    if (selection.includes(type, group.getFirst())) {
                        progress.println(String.format(
                                Locale.ROOT, "round %d of %d, %s: %s", number, count, String.join(" ", group), type));
                        step.measure(type, group);
                    }
                }
            }
        }

        /**
         * Runs a class in a JVM of its own and adds what it measures. A failure is noted for the head of the table.
         *
         * @param main {@link Measurement} or {@link JmhMeasurement}
         * @param threads the numbers of threads
         * @param plan the last arguments of the class
         */
        void measure(Class<?> main, SubjectType type, List<String> group, List<Integer> threads, List<String> plan)
                throws IOException, InterruptedException {
            final List<String> arguments = new ArrayList<>();
            arguments.add(type.toString());
            arguments.add(String.join(",", group));
            arguments.add(threads.stream().map(String::valueOf).collect(Collectors.joining(",")));
            arguments.addAll(plan);
            Rounds.this.measure(this, main, type, String.join(" ", group), arguments);
        }

        /** Measures what measuring itself takes. */
        void measureOverheads() throws IOException, InterruptedException {
            try {
                add(number, Overheads.NAME, launch(lane, Overheads.class, null, List.of()));
            } catch (Launcher.FailedException e) {
                leaveOut("the clock (" + e.getMessage() + ")");
            }
        }
    }

    /** Runs a class that measures the memory of a subject under a workload. */
    void measureMemory(SubjectType type, String workload) throws IOException, InterruptedException {
        progress.println("memory, " + workload + ": " + type);
        measure(new Round(1, 1, 0), Footprint.class, type, workload, List.of(type.toString(), workload));
    }

    private void measure(Round round, Class<?> main, SubjectType type, String workloads, List<String> arguments)
            throws IOException, InterruptedException {
        try {
            add(round.number, type.toString(), launch(round.lane, main, type, arguments));
        } catch (Launcher.FailedException e) {
            final String note = type + " under " + workloads + " failed (" + e.getMessage() + ")";
            progress.println(note);
            leaveOut(note);
        }
    }

    private List<String> launch(int lane, Class<?> main, @Nullable SubjectType type, List<String> arguments)
            throws IOException, InterruptedException, Launcher.FailedException {
        final Path library = type == null ? null : selection.library(type).orElse(null);
        final Path output = temporary.resolve("output-" + lane);
        return launcher.run(processors.of(lane), main, type, library, output, arguments);
    }

    private synchronized void add(int round, String subject, List<String> lines) {
        results.add(round, subject, lines);
    }

    private synchronized void leaveOut(String note) {
        leftOut.add(note);
    }

    /**
     * The lines above the table: where, when, what and how.
     *
     * @param rounds how many there were
     */
    List<String> facts(int rounds, String how) {
        final long seconds = (System.nanoTime() - begin) / 1_000_000_000;
        return List.of(
                "machine: " + Machine.description(),
                "JDK: " + Machine.jdk(),
                "commit: " + selection.commit(),
                "date: " + LocalDate.now(ZoneOffset.UTC),
                "load average: " + loadBefore + " before, " + Machine.load() + " after",
                "rivals: " + rivals(),
                "rounds: " + rounds + lanes() + ", in " + seconds + " s; " + how,
                "left out: " + (leftOut.isEmpty() ? "nothing" : String.join("; ", leftOut)));
    }

    private String lanes() {
        return processors.lanes() == 1
                ? ""
                : ", " + processors.lanes() + " side by side on " + processors.available() / processors.lanes()
                        + " processors each";
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
