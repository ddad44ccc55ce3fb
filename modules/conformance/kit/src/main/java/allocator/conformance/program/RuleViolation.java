package allocator.conformance.program;

import allocator.conformance.subject.Expect;
import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;

/** Thrown when a step of a program breaks a rule, which need not be the rule of the test that ran the program. */
public final class RuleViolation extends AssertionFailedError {
    private static final long serialVersionUID = 1L;

    /** The rule, such as {@code A-03}. */
    private final String rule;

    RuleViolation(String rule, String message, @Nullable Throwable cause) {
        super(message, cause == null ? null : Expect.sound(cause));
        this.rule = rule;
    }

    @SuppressWarnings("AnnotateFormatMethod") // its annotation would be one more library
    static void unless(boolean claim, String rule, String format, @Nullable Object... arguments) {
        if (!claim) {
            throw new RuleViolation(rule, String.format(format, arguments), null);
        }
    }

    public String rule() {
        return rule;
    }
}
