package allocator.conformance.runner;

import allocator.conformance.contract.TestName;
import allocator.conformance.runner.ConformanceReport.TestResult;
import java.io.PrintWriter;
import java.util.function.Consumer;

/** Prints the progress of a run: one character for each test, and the letter of a chapter before its first test. */
final class ProgressLine implements Consumer<TestResult> {
    private static final int WIDTH = 96;

    private final PrintWriter out;
    private String chapter = "";
    private int column;

    ProgressLine(PrintWriter out) {
        this.out = out;
    }

    @Override
    public void accept(TestResult test) {
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
        out.flush();
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
}
