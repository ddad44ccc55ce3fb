package allocator.conformance.runner;

import allocator.conformance.contract.RuleFilter;
import allocator.conformance.contract.TestName;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.Subject;
import allocator.conformance.runner.ConformanceReport.TestResult;
import allocator.conformance.runner.process.ChildProcess;
import allocator.conformance.subject.CleanupFindings.Finding;
import allocator.conformance.subject.Watchdog;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Runs the suites on a provider in a process of its own, so that the provider cannot end or block the run. A test in
 * which the process ends, falls silent or prints without end is a failure of its rule; a new process goes on behind it,
 * without the other tests of that rule. A test that hangs is reported by the process itself, which then ends, as its
 * threads cannot be ended in another way.
 */
final class IsolatedRun {
    /** After so many ends of the process the run is given up. */
    private static final int MOST_ENDS = 16;

    /** After so many hangs a test gets a tenth of the time limit. */
    private static final int MOST_HANGS = 3;

    private static final long MOST_PRINTED = 64L << 20;

    /** How long a process may take beyond the time limits of a test and its cleanup. */
    private static final Duration GRACE = Duration.ofSeconds(30);

    private static final Duration LONGEST_PATIENCE = Duration.ofDays(10_000);

    /** The test that this class does itself, as it takes a process without native access. */
    private static final String LOADING = "required_F01_loadingAndNamingCallNothingNative";

    private static final String UNREADABLE = "what it wrote to the runner cannot be read";

    /** The test that stands for random programs: each test of their chapter runs all of them, so one end is enough. */
    private static final String PROGRAMS = "stochastic_C02_randomProgramsReturn";

    /** Receives what happens, as it happens. */
    interface Listener {
        /** A jar or a provider cannot be loaded. */
        void problem(String text);

        /** The suites begin. */
        void begins(Subject subject);

        /** A test is done. */
        void finished(TestResult result, ConformanceReport reportSoFar);

        /** Random tests begin again, with another seed. */
        void searches(long seed);
    }

    /** How a process ended. */
    private enum End {
        /** Done. */
        DONE,
        /** A test failed by it or hung; another process goes on. */
        EARLY,
        /** The time for the search is over. */
        TIME_OVER
    }

    private final Request request;
    private final RuleFilter filter;
    private final Duration search;
    private final Listener listener;
    private final Instant started = Instant.now();
    private final long start = System.nanoTime();
    private final Map<List<String>, TestResult> results = new LinkedHashMap<>();
    private final Set<String> leftOut = new HashSet<>();
    private List<Finding> findings = List.of();
    private int cleanups;
    private int ends;
    private int hangs;
    private boolean isRandom;
    private String notRun = "the run has not come to it yet";
    private @Nullable Subject subject;
    private @Nullable String type;
    private Message.@Nullable Started current;
    private @Nullable String exitStack;

    /**
     * Prepares a run.
     *
     * @param search how long random tests go on with new seeds, from the start of the run; zero for not at all
     * @throws IllegalArgumentException if no rule matches
     */
    IsolatedRun(Request request, Duration search, Listener listener) {
        this.request = request;
        this.search = search;
        this.listener = listener;
        filter = new RuleFilter(request.rules());
    }

    /**
     * Runs the suites. Returns the report.
     *
     * @throws IllegalArgumentException if the request is wrong, such as for a provider that is not there
     * @throws IOException if no process can be started
     */
    ConformanceReport run() throws IOException, InterruptedException {
        if (filter.accepts(TestName.of(LOADING).orElseThrow().rule())) {
            leftOut.add(LOADING);
        }
        final boolean isDone = toTheEnd(request.without(leftOut, findings, cleanups));
        if (leftOut.contains(LOADING)) {
            load();
        }
        if (isDone) {
            notRun = "it was not selected";
            searchFurther();
        }
        return report(true);
    }

    /** Loads the provider in a process without native access, in which a factory that calls native code fails. */
    private void load() throws IOException, InterruptedException {
        final String factory = type;
        final String rule = TestName.of(LOADING).orElseThrow().rule();
        final boolean isBroken = results.values().stream()
                .anyMatch(result -> result.status() == Status.FAILED
                        && TestName.of(result.name()).orElseThrow().rule().equals(rule));
        if (factory == null || isBroken) {
            return;
        }
        final long begin = System.nanoTime();
        final LoadingWorker.Task task =
                new LoadingWorker.Task(factory, request.providers().directories(), request.timeLimit());
        final String fault;
        try (ChildProcess process =
                ChildProcess.start(LoadingWorker.class, ChildProcess.Kind.WITHOUT_NATIVE_ACCESS, task)) {
            fault = loaded(process, patience(request.timeLimit()));
        }
        record(new TestResult(
                LOADING,
                "provider",
                fault.isEmpty() ? Status.PASSED : Status.FAILED,
                fault.isEmpty()
                        ? ""
                        : rule + " is broken on provider: its factory cannot be loaded and named where no module may"
                                + " call native code: " + fault,
                "",
                Duration.ofNanos(System.nanoTime() - begin)));
    }

    /** Returns what a factory threw that was loaded, or how the process ended; empty if there is no fault. */
    private static String loaded(ChildProcess process, Duration patience) throws IOException, InterruptedException {
        final long begin = System.nanoTime();
        while (true) {
            final boolean hadEnded = !process.isAlive();
            final Optional<List<Message>> messages = messages(process);
            if (messages.isEmpty()) {
                return UNREADABLE;
            }
            if (!messages.get().isEmpty()) {
                return messages.get().getFirst() instanceof Message.Loaded loaded ? loaded.fault() : UNREADABLE;
            }
            if (hadEnded) {
                return process.end();
            }
            if (System.nanoTime() - begin > patience.toNanos() || process.printed() > MOST_PRINTED) {
                return "the process did not come to an end";
            }
        }
    }

    /** Runs random tests with one seed after another until the time is over. */
    private void searchFurther() throws IOException, InterruptedException {
        isRandom = true;
        for (long seed = request.seed() + 1; !isTimeOver(); seed++) {
            listener.searches(seed);
            leftOut.clear();
            results.values().stream()
                    .filter(result -> result.status() == Status.FAILED)
                    .forEach(result -> leftOut.add(result.name()));
            findings = List.of();
            cleanups = 0;
            if (!toTheEnd(request.random(seed, leftOut))) {
                return;
            }
        }
    }

    private boolean isTimeOver() {
        return System.nanoTime() - start >= search.toNanos();
    }

    /** Runs processes until all is done; returns whether it is, or was given up. */
    private boolean toTheEnd(Request whole) throws IOException, InterruptedException {
        Request next = whole;
        while (true) {
            switch (runProcess(next)) {
                case DONE -> {
                    return true;
                }
                case TIME_OVER -> {
                    return false;
                }
                case EARLY -> {
                    if (subject == null || ends == MOST_ENDS) {
                        notRun = subject == null
                                ? "the provider could not be loaded"
                                : "the run was given up after the provider had ended or blocked " + ends + " processes";
                        return false;
                    }
                    next = whole.without(leftOut, findings, cleanups);
                    if (hangs >= MOST_HANGS) {
                        next = next.withTimeLimit(whole.timeLimit().dividedBy(10));
                    }
                }
            }
        }
    }

    private End runProcess(Request next) throws IOException, InterruptedException {
        current = null;
        exitStack = null;
        try (ChildProcess process = ChildProcess.start(Worker.class, kind(next), next)) {
            return watch(process, patience(next.timeLimit()));
        }
    }

    /** Returns the next messages of a process; empty if they are none, as where the provider wrote to the journal. */
    private static Optional<List<Message>> messages(ChildProcess process) throws InterruptedException {
        try {
            return Optional.of(
                    process.messages().stream().map(Message.class::cast).toList());
        } catch (IOException | RuntimeException _) {
            return Optional.empty();
        }
    }

    private static ChildProcess.Kind kind(Request request) {
        return request.quick() ? ChildProcess.Kind.BRIEF : ChildProcess.Kind.ALIKE;
    }

    /** Returns how long a process may be silent: for a test and its cleanup. */
    private static Duration patience(Duration timeLimit) {
        return timeLimit.compareTo(LONGEST_PATIENCE) < 0
                ? timeLimit.multipliedBy(2 * Watchdog.MOST_LIMITS).plus(GRACE)
                : LONGEST_PATIENCE;
    }

    private End watch(ChildProcess process, Duration patience) throws IOException, InterruptedException {
        long lastHeard = System.nanoTime();
        long printedBefore = 0;
        while (true) {
            final boolean hadEnded = !process.isAlive();
            final Optional<List<Message>> messages = messages(process);
            if (messages.isEmpty()) {
                process.kill();
                return blame(process, UNREADABLE);
            }
            for (final Message message : messages.get()) {
                final End end = receive(message);
                if (end != null) {
                    return end;
                }
                printedBefore = process.printed();
                lastHeard = System.nanoTime();
            }
            if (messages.get().isEmpty() && hadEnded) {
                return blame(process, exitStack == null ? process.end() : "System.exit was called\n" + exitStack);
            }
            if (isRandom && isTimeOver()) {
                return End.TIME_OVER;
            }
            if (process.printed() - printedBefore > MOST_PRINTED) {
                process.kill();
                return blame(process, "more than 64 MiB were printed; the last of it\n" + process.lastPrinted());
            }
            if (System.nanoTime() - lastHeard > patience.toNanos()) {
                process.kill();
                return blame(process, "the process gave no sign for " + patience.toSeconds() + " s, and was ended");
            }
        }
    }

    /** Receives a message; returns how the process ended if this is its last one. */
    private @Nullable End receive(Message message) {
        switch (message) {
            case Message.Problem problem -> {
                // Each process says the same.
                if (subject == null) {
                    listener.problem(problem.text());
                }
            }
            case Message.Refused refused -> throw new IllegalArgumentException(refused.text());
            case Message.KitFailed failed -> throw new IllegalStateException(failed.text());
            case Message.Described described -> {
                if (subject == null) {
                    subject = described.subject();
                    type = described.type();
                    listener.begins(described.subject());
                }
            }
            case Message.Started begins -> current = begins;
            case Message.Exiting exiting -> exitStack = exiting.stack();
            case Message.Finished finished -> {
                findings = finished.findings();
                cleanups = finished.cleanups();
                record(finished.result());
                if (finished.isHang()) {
                    hangs++;
                    ends++;
                    leaveOutRest(finished.result());
                    return End.EARLY;
                }
            }
            case Message.Loaded _ -> throw new IllegalStateException("only a process that loads says so");
            case Message.Done _ -> {
                return End.DONE;
            }
        }
        return null;
    }

    /**
     * Records that the test at work ended the process.
     *
     * @throws IOException if the cause may be that its journal cannot be written, or there is no test at work
     */
    private End blame(ChildProcess process, String how) throws IOException {
        process.requireJournal();
        final Message.Started guilty = current;
        if (guilty == null) {
            throw new IOException("no process for the provider can be started: " + how);
        }
        ends++;
        final String test = isOfPrograms(guilty)
                        && filter.accepts(TestName.of(PROGRAMS).orElseThrow().rule())
                ? PROGRAMS
                : guilty.test();
        final String rule = TestName.of(test).orElseThrow().rule();
        final TestResult result = new TestResult(
                test,
                guilty.memory(),
                Status.FAILED,
                rule + " is broken on " + guilty.memory() + ": the process in which the provider ran did not survive "
                        + (guilty.chapter().isEmpty() ? "its loading" : "the test") + ": " + how,
                "",
                Duration.ZERO);
        record(result);
        leaveOutRest(result);
        return End.EARLY;
    }

    /** Leaves out what has run, and the rest of the rule that a test broke so that its process ended. */
    private void leaveOutRest(TestResult result) {
        results.values().forEach(done -> leftOut.add(done.name()));
        leftOut.add(TestName.of(result.name()).orElseThrow().rule());
        final Message.Started begun = current;
        if (begun != null) {
            leftOut.add(begun.test());
            if (isOfPrograms(begun)) {
                leftOut.add(begun.chapter());
            }
        }
    }

    private static boolean isOfPrograms(Message.Started test) {
        return test.chapter().equals(Suites.chapterOf(PROGRAMS));
    }

    private void record(TestResult result) {
        if (isRandom && result.status() != Status.FAILED) {
            return;
        }
        results.put(List.of(result.name(), result.memory()), result);
        listener.finished(result, report(false));
    }

    private ConformanceReport report(boolean isFinished) {
        final Subject known = subject != null
                ? subject
                : new Subject("?", "?", "?", List.of(), List.of("the provider could not be loaded"), "", "");
        return new ConformanceReport(
                known,
                request.settings(),
                filter.toString(),
                started,
                Duration.ofNanos(System.nanoTime() - start),
                isFinished,
                ConformanceReport.byRule(List.copyOf(results.values()), filter, notRun));
    }
}
