package allocator.conformance;

import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;

/** A step of a program broke a rule, which need not be the rule of the test that ran the program. */
final class RuleBroken extends AssertionFailedError {
    private static final long serialVersionUID = 1L;

    /** The rule, such as {@code A-03}. */
    private final String rule;

    RuleBroken(String rule, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.rule = rule;
    }

    @SuppressWarnings("AnnotateFormatMethod") // its annotation would be one more library
    static void unless(boolean claim, String rule, String format, @Nullable Object... arguments) {
        if (!claim) {
            throw new RuleBroken(rule, String.format(format, arguments), null);
        }
    }

    String rule() {
        return rule;
    }
}
