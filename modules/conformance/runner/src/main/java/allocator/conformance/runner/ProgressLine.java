package allocator.conformance.runner;

import allocator.conformance.contract.Contract;
import allocator.conformance.contract.TestName;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import java.io.PrintWriter;

/**
 * Prints the progress of a run: one character for each test, the letter of a chapter before its first test, and each
 * failure as soon as it is known.
 */
final class ProgressLine {
    private static final int WIDTH = 96;

    private final PrintWriter out;
    private String chapter = "";
    private int column;

    ProgressLine(PrintWriter out) {
        this.out = out;
    }

    /** Prints a result. */
    void add(TestResult test) {
        final String next = TestName.of(test.name()).orElseThrow().rule().substring(0, 1);
        if (!next.equals(chapter)) {
            print((chapter.isEmpty() ? "" : " ") + next);
            chapter = next;
        }
        print(
                switch (test.status()) {
                    case PASSED -> ".";
                    case FAILED -> "F";
                    case ADVICE -> "a";
                    default -> "s";
                });
        if (test.status() == Status.FAILED) {
            printFailure(test);
        }
        out.flush();
    }

    /** Ends the line, so that something else can be printed. */
    void endLine() {
        if (column > 0) {
            out.println();
        }
        column = 0;
        chapter = "";
    }

    private void print(String text) {
        if (column + text.length() > WIDTH) {
            out.println();
            column = 0;
        }
        final String shown = column == 0 ? text.strip() : text;
        out.print(shown);
        column += shown.length();
    }

    private void printFailure(TestResult test) {
        endLine();
        final String id = TestName.of(test.name()).orElseThrow().rule();
        out.println();
        Contract.rules().stream()
                .filter(rule -> rule.id().equals(id))
                .forEach(rule -> out.println(id + " " + rule.title()));
        out.println("  " + test.name());
        test.message().lines().forEach(text -> out.println("    " + text));
        out.println();
    }
}
