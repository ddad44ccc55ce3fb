package allocator.conformance;

import allocator.conformance.ConformanceReport.RuleResult;
import allocator.conformance.ConformanceReport.Status;
import allocator.conformance.ConformanceReport.TestResult;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** A report for people to read: one page that needs nothing beside it. */
final class HtmlReport {
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern(
                    "d MMMM yyyy, HH:mm 'UTC'", Locale.ENGLISH)
            .withZone(ZoneOffset.UTC);
    private static final String TICK = "M4 10.5l4 4 8-9";
    private static final String CROSS = "M5 5l10 10M15 5L5 15";

    private final ConformanceReport report;
    private final StringBuilder page = new StringBuilder();

    HtmlReport(ConformanceReport report) {
        this.report = report;
        head();
        counts();
        failures();
        map();
        facts();
        report.rules().stream().map(RuleResult::chapter).distinct().forEach(this::chapter);
        page.append(
                "<footer>Made by the conformance kit of java.allocator. A kit can show that rules are broken; that none"
                        + " is broken it can only make likely.</footer>\n</main>\n</body>\n</html>\n");
    }

    private void head() {
        final ConformanceReport.Subject subject = report.subject();
        page.append("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
                .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
                .append(text(subject.provider()))
                .append(" – conformance report</title>\n<style>\n")
                .append(style())
                .append("</style>\n</head>\n<body>\n<main>\n<header class=\"head\"><div>")
                .append("<p class=\"over\">Allocator conformance report</p><h1>")
                .append(text(subject.provider()))
                .append("</h1><p class=\"by\">Version ")
                .append(text(subject.version()))
                .append(", by ")
                .append(text(subject.vendor()))
                .append("</p></div>");
        final boolean passed = report.passed();
        page.append("<div class=\"verdict ")
                .append(passed ? "passed" : "failed")
                .append("\"><svg viewBox=\"0 0 20 20\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.4\""
                        + " stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\"><path d=\"")
                .append(passed ? TICK : CROSS)
                .append("\"/></svg>")
                .append(passed ? "Conforms" : "Does not conform")
                .append("</div></header>\n");
    }

    private void counts() {
        page.append("<section class=\"card\"><div class=\"counts\">");
        count("passed", report.count(Status.PASSED) + report.count(Status.ADVICE), "rules passed");
        count("failed", report.count(Status.FAILED), "rules broken");
        count("skipped", report.count(Status.SKIPPED), "not proved here");
        count("untested", report.count(Status.UNTESTED), "not testable");
        page.append("</div><div class=\"bar\" aria-hidden=\"true\">");
        for (final Status status : Status.values()) {
            if (report.count(status) > 0) {
                page.append("<i class=\"")
                        .append(css(status))
                        .append("\" style=\"flex:")
                        .append(report.count(status))
                        .append("\"></i>");
            }
        }
        page.append("</div></section>\n");
    }

    private void count(String css, long number, String what) {
        page.append("<div class=\"")
                .append(css)
                .append("\"><b>")
                .append(number)
                .append("</b><span>")
                .append(what)
                .append("</span></div>");
    }

    private void failures() {
        final List<RuleResult> broken = report.rules().stream()
                .filter(rule -> rule.status() == Status.FAILED)
                .toList();
        if (broken.isEmpty()) {
            return;
        }
        page.append("<section class=\"card\"><h2>What is broken</h2>\n");
        for (final RuleResult rule : broken) {
            page.append("<div class=\"fault failed\"><h3><span class=\"id\">")
                    .append(rule.id())
                    .append("</span> ")
                    .append(text(rule.text()))
                    .append("</h3>");
            rule.tests().stream().filter(test -> test.status() == Status.FAILED).forEach(this::failure);
            page.append("</div>\n");
        }
        page.append("</section>\n");
    }

    private void failure(TestResult test) {
        page.append("<p class=\"where\">")
                .append(text(capitalized(test.claim())))
                .append(" – ")
                .append(text(test.memory()))
                .append("</p><p class=\"what\">")
                .append(text(withoutPreamble(test.summary())))
                .append("</p>");
        final String rest = test.message().lines().skip(1).collect(Collectors.joining("\n"));
        if (!rest.isBlank()) {
            page.append("<pre>").append(text(rest)).append("</pre>");
        }
        if (!test.program().isEmpty()) {
            page.append("<p class=\"hint\">Beside this page as ")
                    .append(text(ReportFiles.PROGRAMS + "/" + ReportFiles.programName(test)))
                    .append("</p>");
        }
    }

    /** The rule and the memory stand above already. */
    private static String withoutPreamble(String summary) {
        return summary.replaceFirst("^[A-Z]-\\d\\d is broken on [^:]*(?::\\d[^:]*)*: ", "");
    }

    private void map() {
        page.append("<section class=\"card\"><h2>Rules at a glance</h2><div class=\"map\">\n");
        for (final String chapter :
                report.rules().stream().map(RuleResult::chapter).distinct().toList()) {
            page.append("<div class=\"name\">").append(text(chapter)).append("</div><div class=\"cells\">");
            for (final RuleResult rule : rulesOf(chapter)) {
                page.append("<a class=\"")
                        .append(css(rule.status()))
                        .append("\" href=\"#")
                        .append(rule.id())
                        .append("\" title=\"")
                        .append(text(plain(rule.text())))
                        .append("\">")
                        .append(rule.id())
                        .append("</a>");
            }
            page.append("</div>\n");
        }
        page.append("</div><p class=\"legend\">");
        for (final Status status : Status.values()) {
            if (report.count(status) > 0) {
                page.append("<span class=\"")
                        .append(css(status))
                        .append("\">")
                        .append(word(status))
                        .append("</span>");
            }
        }
        page.append("</p></section>\n");
    }

    private void facts() {
        final ConformanceReport.Subject subject = report.subject();
        page.append("<section class=\"card\"><h2>Where and how</h2><dl class=\"facts\">");
        fact("Devices", subject.devices().isEmpty() ? List.of("none found") : subject.devices());
        if (!subject.notes().isEmpty()) {
            fact("The provider notes", subject.notes());
        }
        fact("Java", List.of(subject.jdk()));
        fact("System", List.of(subject.system()));
        fact(
                "Run",
                List.of(String.format(
                        Locale.ROOT,
                        "%s, %d tests in %.1f s",
                        DATE.format(report.started()),
                        report.tests().size(),
                        report.took().toMillis() / 1000.0)));
        fact("Seed", List.of(Long.toString(report.settings().seed())));
        fact("Depth", List.of(report.settings().quick() ? "quick" : "full"));
        if (!report.filter().equals("*")) {
            fact("Only rules", List.of(report.filter()));
        }
        page.append("</dl></section>\n");
    }

    private void fact(String name, List<String> values) {
        page.append("<dt>").append(name).append("</dt><dd>");
        values.forEach(value -> page.append("<p>").append(text(value)).append("</p>"));
        page.append("</dd>");
    }

    private void chapter(String chapter) {
        page.append("<section class=\"chapter\"><h2>").append(text(chapter)).append("</h2>\n");
        rulesOf(chapter).forEach(this::rule);
        page.append("</section>\n");
    }

    private void rule(RuleResult rule) {
        page.append("<details class=\"")
                .append(css(rule.status()))
                .append("\" id=\"")
                .append(rule.id())
                .append("\"><summary><span><span class=\"id\">")
                .append(rule.id())
                .append("</span></span><span class=\"text\">")
                .append(text(rule.text()))
                .append("</span><span class=\"state\">")
                .append(word(rule.status()))
                .append("</span></summary><div class=\"runs\">");
        if (!rule.reason().isEmpty()) {
            page.append("<p class=\"reason\">")
                    .append(text(rule.status() == Status.UNTESTED ? "This rule " + rule.reason() : rule.reason()))
                    .append(".</p>");
        }
        if (!rule.tests().isEmpty() && rule.status() != Status.SKIPPED) {
            page.append("<table>");
            rule.tests().forEach(this::run);
            page.append("</table>");
        }
        page.append("</div></details>\n");
    }

    private void run(TestResult test) {
        page.append("<tr class=\"")
                .append(css(test.status()))
                .append("\"><td>")
                .append(text(capitalized(test.claim())));
        if (test.status() == Status.SKIPPED || test.status() == Status.ADVICE) {
            page.append("<span class=\"why\">")
                    .append(text(withoutPreamble(test.summary())))
                    .append("</span>");
        }
        page.append("</td><td>")
                .append(text(test.memory()))
                .append("</td><td>")
                .append(word(test.status()))
                .append("</td></tr>");
    }

    private List<RuleResult> rulesOf(String chapter) {
        return report.rules().stream()
                .filter(rule -> rule.chapter().equals(chapter))
                .toList();
    }

    private static String capitalized(String sentence) {
        return sentence.substring(0, 1).toUpperCase(Locale.ROOT) + sentence.substring(1);
    }

    private static String css(Status status) {
        return status.name().toLowerCase(Locale.ROOT);
    }

    private static String word(Status status) {
        return switch (status) {
            case PASSED -> "passed";
            case ADVICE -> "passed, with advice";
            case FAILED -> "broken";
            case SKIPPED -> "not proved here";
            case UNTESTED -> "not testable";
        };
    }

    /** Escaped, with the contract's Markdown for code and stress turned into HTML. */
    private static String text(String raw) {
        return XmlReport.escaped(raw)
                .replaceAll("`([^`]*)`", "<code>$1</code>")
                .replaceAll("\\*([^*\\s][^*]*)\\*", "<em>$1</em>");
    }

    private static String plain(String markdown) {
        return markdown.replace("`", "").replace("*", "");
    }

    private static String style() {
        try (InputStream style = HtmlReport.class.getResourceAsStream("report.css")) {
            if (style == null) {
                throw new IllegalStateException("report.css is not beside " + HtmlReport.class.getName());
            }
            return new String(style.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public String toString() {
        return page.toString();
    }
}
