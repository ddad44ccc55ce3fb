package allocator.conformance.runner;

import allocator.conformance.runner.ConformanceReport.RuleResult;
import allocator.conformance.runner.ConformanceReport.Status;
import allocator.conformance.runner.ConformanceReport.TestResult;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A report as JSON, for programs. */
final class JsonReport {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    JsonReport(ConformanceReport report) {
        fields.put("conforms", report.verdict() == ConformanceReport.Verdict.CONFORMS);
        fields.put("verdict", report.verdict().toString());
        fields.put("finished", report.isFinished());
        fields.put("provider", report.subject().provider());
        fields.put("vendor", report.subject().vendor());
        fields.put("version", report.subject().version());
        fields.put("devices", report.subject().devices());
        fields.put("notes", report.subject().notes());
        fields.put("jdk", report.subject().jdk());
        fields.put("system", report.subject().system());
        fields.put("seed", report.settings().seed());
        fields.put("quick", report.settings().quick());
        fields.put("rules_asked_for", report.filter());
        fields.put("started", report.started().toString());
        fields.put("milliseconds", report.took().toMillis());
        final Map<String, Long> counts = new TreeMap<>();
        for (final Status status : Status.values()) {
            counts.put(name(status), report.count(status));
        }
        fields.put("rule_counts", counts);
        fields.put(
                "not_proved",
                report.notProved().stream().map(JsonReport::notProved).toList());
        fields.put("rules", report.rules().stream().map(JsonReport::rule).toList());
    }

    private static String name(Status status) {
        return status.name().toLowerCase(Locale.ROOT);
    }

    private static Map<String, Object> notProved(ConformanceReport.NotProved entry) {
        final Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("because", entry.because());
        fields.put("rules", entry.rules());
        fields.put("in_part", entry.inPart());
        return fields;
    }

    private static Map<String, Object> rule(RuleResult rule) {
        final Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("rule", rule.id());
        fields.put("chapter", rule.chapter());
        fields.put("title", rule.title());
        fields.put("text", rule.text());
        fields.put("status", name(rule.status()));
        fields.put(
                "message",
                rule.tests().stream()
                        .filter(test -> test.status() == Status.FAILED)
                        .map(TestResult::summary)
                        .findFirst()
                        .orElse(rule.reason()));
        fields.put("tests", rule.tests().stream().map(JsonReport::test).toList());
        return fields;
    }

    private static Map<String, Object> test(TestResult test) {
        final Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("test", test.name());
        fields.put("memory", test.memory());
        fields.put("status", name(test.status()));
        fields.put("message", test.message());
        if (!test.program().isEmpty()) {
            fields.put("program", test.program());
        }
        fields.put("milliseconds", test.took().toMillis());
        return fields;
    }

    /** Returns a value; each element of an object or an array is on a line of its own. */
    private static String json(Object value, String newLine) {
        final String inner = newLine + "  ";
        return switch (value) {
            case Map<?, ?> object ->
                "{"
                        + joined(
                                object.entrySet().stream()
                                        .map(field -> quoted(field.getKey().toString()) + ": "
                                                + json(field.getValue(), inner)),
                                newLine)
                        + "}";
            case List<?> array -> "[" + joined(array.stream().map(item -> json(item, inner)), newLine) + "]";
            case String string -> quoted(string);
            default -> value.toString();
        };
    }

    private static String joined(Stream<String> elements, String newLine) {
        final String all = elements.collect(Collectors.joining("," + newLine + "  "));
        return all.isEmpty() ? "" : newLine + "  " + all + newLine;
    }

    private static String quoted(String raw) {
        final StringBuilder quoted = new StringBuilder("\"");
        raw.chars()
                .forEach(c -> quoted.append(
                        switch (c) {
                            case '"', '\\' -> "\\" + (char) c;
                            case '\n' -> "\\n";
                            default -> c < ' ' ? String.format(Locale.ROOT, "\\u%04x", c) : Character.toString(c);
                        }));
        return quoted.append('"').toString();
    }

    @Override
    public String toString() {
        return json(fields, "\n") + "\n";
    }
}
