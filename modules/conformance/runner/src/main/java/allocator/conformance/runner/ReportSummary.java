package allocator.conformance.runner;

import allocator.conformance.contract.Contract;
import allocator.conformance.runner.ConformanceReport.RuleResult;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.output.PlainWriter;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Prints the summary of a report: a line for each chapter, what was not proved, and the verdict. */
record ReportSummary(PrintWriter out) {
    void print(ConformanceReport report) {
        out.println();
        out.println();
        for (final Contract.Chapter chapter : Contract.chapters()) {
            final List<RuleResult> rules = report.rules().stream()
                    .filter(rule -> rule.chapter().equals(chapter.title()))
                    .toList();
            if (!rules.isEmpty()) {
                out.printf(
                        Locale.ROOT,
                        "  %s  %-24s %2d passed %2d failed %2d skipped %2d untested%n",
                        chapter.letter(),
                        chapter.title(),
                        count(rules, Status.PASSED) + count(rules, Status.ADVICE),
                        count(rules, Status.FAILED),
                        count(rules, Status.SKIPPED),
                        count(rules, Status.UNTESTED));
            }
        }
        printNotProved(report);
        final String broken = String.join(
                ", ",
                report.rules().stream()
                        .filter(rule -> rule.status() == Status.FAILED)
                        .map(RuleResult::id)
                        .toList());
        out.println();
        out.printf(
                Locale.ROOT,
                "%s %s: %s; %d rules passed, %d failed, %d skipped, %d untested; %d tests in %.1f s%n",
                PlainWriter.oneLine(report.subject().provider()),
                PlainWriter.oneLine(report.subject().version()),
                (report.verdict().toString().toUpperCase(Locale.ROOT) + " " + broken).strip(),
                report.count(Status.PASSED) + report.count(Status.ADVICE),
                report.count(Status.FAILED),
                report.count(Status.SKIPPED),
                report.count(Status.UNTESTED),
                report.tests().size(),
                report.took().toMillis() / 1000.0);
    }

    private static long count(List<RuleResult> rules, Status status) {
        return rules.stream().filter(rule -> rule.status() == status).count();
    }

    /** Prints what was not proved, a line for each reason. */
    private void printNotProved(ConformanceReport report) {
        if (report.notProved().isEmpty()) {
            return;
        }
        out.println();
        out.println("Not proved, because");
        for (final ConformanceReport.NotProved entry : report.notProved()) {
            final String whole = String.join(", ", entry.rules());
            final String inPart = entry.inPart().isEmpty() ? "" : "in part " + String.join(", ", entry.inPart());
            out.println("  " + PlainWriter.oneLine(entry.because()) + ": " + whole
                    + (whole.isEmpty() || inPart.isEmpty() ? "" : "; ") + inPart);
        }
    }
}
