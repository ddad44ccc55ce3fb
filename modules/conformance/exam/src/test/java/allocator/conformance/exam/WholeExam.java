package allocator.conformance.exam;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Every edit against the whole kit, quick and full, each in a process of its own. A run that finds a rule broken which
 * the edit names ends the work on that edit, so most take seconds.
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

    WholeExam(Path work) {
        this.work = work;
    }

    /**
     * Runs edits, several at a time.
     *
     * @param selection the edits to run
     * @param log receives a line for each edit that is done
     */
    List<Result> run(Predicate<Edit> selection, int jobs, java.util.function.Consumer<Result> log)
            throws InterruptedException, IOException {
        final List<Future<Result>> results = new ArrayList<>();
        try (ExecutorService pool = Executors.newFixedThreadPool(jobs)) {
            for (final ExamProvider provider : ExamProvider.all()) {
                for (final Edit edit : provider.edits()) {
                    if (selection.test(edit)) {
                        results.add(pool.submit(() -> {
                            final Result result = run(provider, edit);
                            log.accept(result);
                            return result;
                        }));
                    }
                }
            }
        }
        final List<Result> done = new ArrayList<>();
        for (final Future<Result> result : results) {
            try {
                done.add(result.get());
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

    private static Result runWrong(Edit edit, Path folder, Path dropped) throws IOException, InterruptedException {
        final String own = String.join(",", edit.rules());
        Result other = null;
        for (final String how : List.of(QUICK, FULL)) {
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

    private static Result runUnusual(Edit edit, Path folder, Path dropped) throws IOException, InterruptedException {
        for (final String how : List.of(QUICK, FULL)) {
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

    /** Runs all edits whose name matches the first argument, and writes the page to the second. */
    static void main(String... arguments) throws IOException, InterruptedException {
        final Path work = Files.createTempDirectory("exam");
        final List<Result> results = new WholeExam(work)
                .run(
                        edit -> edit.name().matches(arguments[0]),
                        Integer.getInteger("allocator.exam.jobs", 2),
                        result -> System.out.println(result.line()));
        Files.writeString(Path.of(arguments[1]), page(results));
        System.out.println(work);
    }
}
