package allocator.conformance.contract;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Selects rules by one or more patterns with {@code *} and {@code ?}, separated by commas. */
public final class RuleFilter {
    private final String text;
    private final List<Pattern> patterns;

    /**
     * Parses patterns.
     *
     * @throws IllegalArgumentException if no rule of the contract matches
     */
    public RuleFilter(String text) {
        this.text = text;
        patterns = Arrays.stream(text.split(",", -1))
                .map(glob -> Pattern.quote(glob.strip().toUpperCase(Locale.ROOT))
                        .replace("*", "\\E.*\\Q")
                        .replace("?", "\\E.\\Q"))
                .map(Pattern::compile)
                .toList();
        if (Contract.rules().stream().noneMatch(rule -> accepts(rule.id()))) {
            throw new IllegalArgumentException("no rule matches '" + text + "'; there are "
                    + Contract.chapters().stream()
                            .map(chapter -> chapter.rules().getFirst().id() + " to "
                                    + chapter.rules().getLast().id())
                            .collect(Collectors.joining(", "))
                    + "; a chapter is A-*");
        }
    }

    /** Returns whether a rule is selected, by its number. */
    public boolean accepts(String rule) {
        return patterns.stream().anyMatch(pattern -> pattern.matcher(rule).matches());
    }

    @Override
    public String toString() {
        return text;
    }
}
