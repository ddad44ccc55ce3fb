import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Prints a line for each test class as it ends, and the failures in it, for the output of {@code run-tests}. At the end,
 * the property {@code ended.classes} names a file for the counts of all of them, as cells of a table.
 */
public final class EndedClasses implements TestExecutionListener {
    private final Map<String, Counts> running = new ConcurrentHashMap<>();
    private final Counts all = new Counts();
    private int classes;
    private TestPlan plan;

    private static final class Counts {
        final long start = System.nanoTime();
        int tests;
        int failed;
        int skipped;

        void add(Counts other) {
            tests += other.tests;
            failed += other.failed;
            skipped += other.skipped;
        }

        double seconds() {
            return (System.nanoTime() - start) / 1e9;
        }
    }

    @Override
    public void testPlanExecutionStarted(TestPlan started) {
        plan = started;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (isClass(test)) {
            running.put(test.getUniqueId(), new Counts());
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        final Counts counts = countsOf(test);
        if (counts != null) {
            counts.skipped++;
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        final Counts counts = countsOf(test);
        if (counts == null) {
            return;
        }
        if (test.isTest()) {
            counts.tests++;
            counts.skipped += result.getStatus() == Status.ABORTED ? 1 : 0;
        }
        if (result.getStatus() == Status.FAILED) {
            counts.failed++;
            System.out.println("FAILED " + test.getLegacyReportingName() + ": "
                    + result.getThrowable().map(Throwable::toString).orElse(""));
        }
        if (isClass(test)) {
            System.out.printf(
                    "%6.1f s  %s: %d tests, %d failed, %d skipped%n",
                    counts.seconds(),
                    test.getLegacyReportingName(),
                    counts.tests,
                    counts.failed,
                    counts.skipped);
            synchronized (all) {
                classes++;
                all.add(counts);
            }
        }
    }

    @Override
    public void testPlanExecutionFinished(TestPlan finished) {
        final String file = System.getProperty("ended.classes");
        if (file == null) {
            return;
        }
        final String cells = String.format(
                Locale.ROOT, "%d | %d | %d | %d | %.0f", classes, all.tests, all.skipped, all.failed, all.seconds());
        try {
            Files.writeString(Path.of(file), cells);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns whether it is a class that no other class encloses. */
    private boolean isClass(TestIdentifier test) {
        return test.getSource().filter(ClassSource.class::isInstance).isPresent()
                && plan.getParent(test).flatMap(TestIdentifier::getSource).isEmpty();
    }

    private Counts countsOf(TestIdentifier test) {
        TestIdentifier at = test;
        while (at != null && !isClass(at)) {
            at = plan.getParent(at).orElse(null);
        }
        return at == null ? null : running.get(at.getUniqueId());
    }
}
