package allocator.conformance;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/** Which rules are asked for: one or more patterns with {@code *} and {@code ?}, separated by commas. */
final class RuleFilter {
    static final RuleFilter ALL = new RuleFilter("*");

    private final String text;
    private final List<Pattern> patterns;

    /**
     * Reads patterns.
     *
     * @throws IllegalArgumentException if no rule of the contract fits
     */
    RuleFilter(String text) {
        this.text = text;
        patterns = Arrays.stream(text.split(",", -1))
                .map(glob -> Pattern.quote(glob.strip().toUpperCase(Locale.ROOT))
                        .replace("*", "\\E.*\\Q")
                        .replace("?", "\\E.\\Q"))
                .map(Pattern::compile)
                .toList();
        if (Contract.rules().stream().noneMatch(rule -> accepts(rule.id()))) {
            throw new IllegalArgumentException("no rule fits '" + text + "'; rules look like A-03, a chapter like A-*");
        }
    }

    boolean accepts(String rule) {
        return patterns.stream().anyMatch(pattern -> pattern.matcher(rule).matches());
    }

    @Override
    public String toString() {
        return text;
    }
}
