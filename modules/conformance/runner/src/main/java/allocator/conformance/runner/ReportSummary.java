package allocator.conformance.runner;

import allocator.conformance.contract.Contract;
import allocator.conformance.runner.ConformanceReport.RuleResult;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.output.PlainWriter;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** Prints the summary of a report: a line for each chapter, the failures, and the verdict. */
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
        report.rules().stream().filter(rule -> rule.status() == Status.FAILED).forEach(this::printFailure);
        out.println();
        out.printf(
                Locale.ROOT,
                "%s %s: %s; %d rules passed, %d failed, %d skipped, %d untested; %d tests in %.1f s%n",
                PlainWriter.oneLine(report.subject().provider()),
                PlainWriter.oneLine(report.subject().version()),
                report.passed() ? "CONFORMS" : "DOES NOT CONFORM",
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

    private void printFailure(RuleResult rule) {
        out.println();
        out.println(rule.id() + " " + rule.text());
        rule.tests().stream().filter(test -> test.status() == Status.FAILED).forEach(test -> {
            out.println("  " + test.name());
            test.message().lines().forEach(text -> out.println("    " + text));
        });
    }
}
