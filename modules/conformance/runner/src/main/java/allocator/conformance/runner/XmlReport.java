package allocator.conformance.runner;

import allocator.conformance.runner.ConformanceReport.RuleResult;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import java.time.Duration;
import java.util.Locale;

/** A report in JUnit's XML format for build servers: a test case for each run of a test, a class for each rule. */
final class XmlReport {
    private final StringBuilder text = new StringBuilder("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");

    XmlReport(ConformanceReport report) {
        text.append(String.format(
                Locale.ROOT,
                "<testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\" time=\"%s\""
                        + " timestamp=\"%s\">%n",
                escaped("conformance of " + report.subject().provider()),
                report.tests().size(),
                count(report, Status.FAILED),
                count(report, Status.SKIPPED) + count(report, Status.ADVICE),
                seconds(report.took()),
                report.started()));
        text.append("  <properties>\n");
        property("verdict", report.verdict().toString());
        property("finished", Boolean.toString(report.isFinished()));
        property("version", report.subject().version());
        property("devices", String.join(", ", report.subject().devices()));
        property("seed", Long.toString(report.settings().seed()));
        report.notProved().forEach(entry -> property("not proved", entry.because()));
        text.append("  </properties>\n");
        for (final RuleResult rule : report.rules()) {
            rule.tests().forEach(test -> testCase(rule, test));
        }
        text.append("</testsuite>\n");
    }

    private void property(String name, String value) {
        text.append("    <property name=\"")
                .append(name)
                .append("\" value=\"")
                .append(escaped(value))
                .append("\"/>\n");
    }

    private static long count(ConformanceReport report, Status status) {
        return report.tests().stream().filter(test -> test.status() == status).count();
    }

    private void testCase(RuleResult rule, TestResult test) {
        text.append(String.format(
                Locale.ROOT,
                "  <testcase classname=\"%s\" name=\"%s\" time=\"%s\"",
                escaped("conformance." + rule.id()),
                escaped(test.name() + " [" + test.memory() + "]"),
                seconds(test.took())));
        switch (test.status()) {
            case FAILED ->
                text.append(">\n    <failure message=\"")
                        .append(escaped(test.summary()))
                        .append("\">")
                        .append(escaped(test.message()))
                        .append("</failure>\n  </testcase>\n");
            case SKIPPED, ADVICE ->
                text.append(">\n    <skipped message=\"")
                        .append(escaped(test.summary()))
                        .append("\"/>\n  </testcase>\n");
            default -> text.append("/>\n");
        }
    }

    private static String seconds(Duration time) {
        return String.format(Locale.ROOT, "%.3f", time.toNanos() / 1e9);
    }

    /** Escapes text for XML and HTML. Characters that XML does not allow become blanks. */
    static String escaped(String raw) {
        return raw.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;")
                .replaceAll("[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]", " ");
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
