package allocator.conformance.runner;

import allocator.conformance.runner.ConformanceReport.RuleResult;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** A report as JSON, for programs. */
final class JsonReport {
    private final StringBuilder text = new StringBuilder();
    private int depth;

    JsonReport(ConformanceReport report) {
        open('{');
        field("conforms", report.verdict() == ConformanceReport.Verdict.CONFORMS);
        field("verdict", report.verdict().toString());
        field("finished", report.isFinished());
        field("provider", report.subject().provider());
        field("vendor", report.subject().vendor());
        field("version", report.subject().version());
        field("devices", report.subject().devices());
        field("notes", report.subject().notes());
        field("jdk", report.subject().jdk());
        field("system", report.subject().system());
        field("seed", report.settings().seed());
        field("quick", report.settings().quick());
        field("rules_asked_for", report.filter());
        field("started", report.started().toString());
        field("milliseconds", report.took().toMillis());
        final Map<String, Long> counts = new TreeMap<>();
        for (final Status status : Status.values()) {
            counts.put(name(status), report.count(status));
        }
        name("rule_counts");
        open('{');
        counts.forEach(this::field);
        close('}');
        name("not_proved");
        open('[');
        report.notProved().forEach(this::notProved);
        close(']');
        name("rules");
        open('[');
        report.rules().forEach(this::rule);
        close(']');
        close('}');
        text.append('\n');
    }

    private static String name(Status status) {
        return status.name().toLowerCase(Locale.ROOT);
    }

    private void notProved(ConformanceReport.NotProved entry) {
        open('{');
        field("because", entry.because());
        field("rules", entry.rules());
        field("in_part", entry.inPart());
        close('}');
    }

    private void rule(RuleResult rule) {
        open('{');
        field("rule", rule.id());
        field("chapter", rule.chapter());
        field("title", rule.title());
        field("text", rule.text());
        field("status", name(rule.status()));
        field(
                "message",
                rule.tests().stream()
                        .filter(test -> test.status() == Status.FAILED)
                        .map(TestResult::summary)
                        .findFirst()
                        .orElse(rule.reason()));
        name("tests");
        open('[');
        rule.tests().forEach(this::test);
        close(']');
        close('}');
    }

    private void test(TestResult test) {
        open('{');
        field("test", test.name());
        field("memory", test.memory());
        field("status", name(test.status()));
        field("message", test.message());
        if (!test.program().isEmpty()) {
            field("program", test.program());
        }
        field("milliseconds", test.took().toMillis());
        close('}');
    }

    private void open(char bracket) {
        separate();
        text.append(bracket);
        depth++;
    }

    private void close(char bracket) {
        depth--;
        if (text.charAt(text.length() - 1) != '[') {
            newLine();
        }
        text.append(bracket);
    }

    /** Appends a comma after a value, and a line break, unless a name was appended last. */
    private void separate() {
        if (text.isEmpty() || text.charAt(text.length() - 1) == ' ') {
            return;
        }
        final char last = text.charAt(text.length() - 1);
        if (last != '{' && last != '[') {
            text.append(',');
        }
        newLine();
    }

    private void newLine() {
        text.append('\n').append("  ".repeat(depth));
    }

    private void name(String name) {
        separate();
        text.append(quoted(name)).append(": ");
    }

    private void field(String name, Object value) {
        name(name);
        text.append(
                switch (value) {
                    case String string -> quoted(string);
                    case List<?> list ->
                        "["
                                + String.join(
                                        ", ",
                                        list.stream()
                                                .map(item -> quoted(item.toString()))
                                                .toList()) + "]";
                    default -> value.toString();
                });
    }

    private static String quoted(String raw) {
        final StringBuilder quoted = new StringBuilder("\"");
        raw.chars().forEach(c -> {
            switch (c) {
                case '"' -> quoted.append("\\\"");
                case '\\' -> quoted.append("\\\\");
                case '\n' -> quoted.append("\\n");
                case '\t' -> quoted.append("\\t");
                case '\r' -> quoted.append("\\r");
                default -> {
                    if (c < ' ') {
                        quoted.append(String.format(Locale.ROOT, "\\u%04x", c));
                    } else {
                        quoted.append((char) c);
                    }
                }
            }
        });
        return quoted.append('"').toString();
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
