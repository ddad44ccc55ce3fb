package allocator.conformance.exam;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Edits against the whole kit, quick and full, each in a process of its own. A run that finds a rule broken which the
 * edit names ends the work on that edit, so most wrong ones take seconds.
 */
final class WholeExam {
    private static final String QUICK = "quick";
    private static final String FULL = "full";

    /**
     * The result of an edit.
     *
     * @param edit the edit
     * @param how {@code quick} or {@code full}, the shortest run that found it; empty if none did
     * @param findings what was found then
     * @param problem why there is no result; empty if there is one
     */
    record Result(Edit edit, String how, List<Finding> findings, String problem) {
        /** Returns the rule by which the edit was found: one of its own, if any is. */
        String rule() {
            return findings.stream()
                    .map(Finding::rule)
                    .sorted(Comparator.comparing(rule -> !edit.rules().contains(rule)))
                    .findFirst()
                    .orElse("");
        }

        boolean isOwn() {
            return edit.rules().contains(rule());
        }

        /** Returns a line of the table. */
        String line() {
            final String state;
            if (!problem.isEmpty()) {
                state = "| ERROR | " + problem.replace('\n', ' ').replace('|', '/');
            } else if (findings.isEmpty()) {
                state = edit.isWrong() ? "| **not found** | |" : "| conforms | |";
            } else {
                state = "| " + rule() + (isOwn() ? "" : " (another rule)") + " | " + how
                        + (findings.stream().allMatch(Finding::isEndOfProcess) ? ", by the end of its process" : "")
                        + " |";
            }
            return "| " + edit.name() + " | " + String.join(" ", edit.rules()) + " " + state;
        }
    }

    private final Path work;
    private final ExamJournal journal;
    private final List<String> ways;

    /**
     * Creates an exam.
     *
     * @param work a folder for jars and reports
     * @param journal has the results that are there already, and receives the others
     * @param isQuick whether full runs are left out
     */
    WholeExam(Path work, ExamJournal journal, boolean isQuick) {
        this.work = work;
        this.journal = journal;
        ways = isQuick ? List.of(QUICK) : List.of(QUICK, FULL);
    }

    /**
     * Runs edits, several at a time.
     *
     * @param providers the providers whose edits are run
     * @param selection the edits to run
     * @param jobs how many at a time
     * @param time how long edits are begun; those that are not are left to another run
     * @param log receives the result of each edit that is done now
     * @return the results of the edits that are done, now or before
     */
    List<Result> run(
            List<ExamProvider> providers, Predicate<Edit> selection, int jobs, Duration time, Consumer<Result> log)
            throws InterruptedException {
        final long start = System.nanoTime();
        final List<Future<Optional<Result>>> results = new ArrayList<>();
        try (ExecutorService pool = Executors.newFixedThreadPool(jobs)) {
            for (final ExamProvider provider : providers) {
                for (final Edit edit : provider.edits()) {
                    if (selection.test(edit)) {
                        results.add(pool.submit(() -> {
                            final Optional<Result> known = journal.find(provider, edit);
                            if (known.isPresent() || System.nanoTime() - start > time.toNanos()) {
                                return known;
                            }
                            final Result result = run(provider, edit);
                            journal.add(provider, result);
                            log.accept(result);
                            return Optional.of(result);
                        }));
                    }
                }
            }
        }
        final List<Result> done = new ArrayList<>();
        for (final Future<Optional<Result>> result : results) {
            try {
                result.get().ifPresent(done::add);
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
        return done;
    }

    private Result run(ExamProvider provider, Edit edit) throws IOException, InterruptedException {
        final Path folder = work.resolve(edit.name());
        final Path dropped = Files.createDirectories(folder.resolve("dropped"));
        try {
            CompiledProvider.of(provider.factory(), provider.edited(edit)).write(dropped.resolve("provider.jar"));
        } catch (IllegalArgumentException e) {
            return new Result(edit, "", List.of(), String.valueOf(e.getMessage()));
        }
        final Result result = edit.isWrong() ? runWrong(edit, folder, dropped) : runUnusual(edit, folder, dropped);
        delete(dropped);
        return result;
    }

    private Result runWrong(Edit edit, Path folder, Path dropped) throws IOException, InterruptedException {
        final String own = String.join(",", edit.rules());
        Result other = null;
        for (final String how : ways) {
            for (final String rules : List.of(own, "*")) {
                final Result result = one(edit, folder, dropped, how, rules, "10");
                if (!result.problem().isEmpty() || result.isOwn()) {
                    return result;
                }
                if (other == null && !result.findings().isEmpty()) {
                    other = result;
                }
                if (other != null && how.equals(FULL)) {
                    return other;
                }
            }
        }
        return other == null ? new Result(edit, "", List.of(), "") : other;
    }

    private Result runUnusual(Edit edit, Path folder, Path dropped) throws IOException, InterruptedException {
        for (final String how : ways) {
            final Result result = one(edit, folder, dropped, how, "*", "30");
            if (!result.problem().isEmpty() || !result.findings().isEmpty()) {
                return result;
            }
        }
        return new Result(edit, "", List.of(), "");
    }

    private static Result one(Edit edit, Path folder, Path dropped, String how, String rules, String timeout)
            throws IOException, InterruptedException {
        final Path work = Files.createDirectories(folder.resolve(how + (rules.equals("*") ? "" : "-own")));
        final List<String> options = new ArrayList<>(List.of("--rules", rules, "--timeout", timeout));
        if (how.equals(QUICK)) {
            options.add("--quick");
        }
        final ProviderProcess.Outcome outcome = ProviderProcess.run(dropped, work, options);
        // 3: none of these rules could be proved, which a wrong provider may cause.
        final boolean isRun = outcome.exitCode() == 0 || outcome.exitCode() == 1 || outcome.exitCode() == 3;
        return new Result(
                edit,
                how,
                outcome.findings(),
                isRun ? "" : "exit code " + outcome.exitCode() + ": " + outcome.output());
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            for (final Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the results as a page: counts, and a line for each edit. */
    static String page(List<Result> results) {
        final List<Result> wrong =
                results.stream().filter(result -> result.edit().isWrong()).toList();
        final List<Result> unusual =
                results.stream().filter(result -> !result.edit().isWrong()).toList();
        final long found =
                wrong.stream().filter(result -> !result.findings().isEmpty()).count();
        final long own = wrong.stream().filter(Result::isOwn).count();
        final long ownQuick = wrong.stream()
                .filter(result -> result.isOwn() && result.how().equals(QUICK))
                .count();
        final long ends = wrong.stream()
                .filter(result -> !result.findings().isEmpty()
                        && result.findings().stream().allMatch(Finding::isEndOfProcess))
                .count();
        final long failed =
                unusual.stream().filter(result -> !result.findings().isEmpty()).count();
        return String.format(
                        "%d wrong: %d found, %d by a rule of theirs (%d of them quick),"
                                + " %d by the end of the process only.%n"
                                + "%d unusual: %d fail.%n%n| edit | rules | found by | run |%n|---|---|---|---|%n",
                        wrong.size(), found, own, ownQuick, ends, unusual.size(), failed)
                + results.stream().map(Result::line).collect(Collectors.joining("\n"))
                + "\n";
    }
}
