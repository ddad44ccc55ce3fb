package allocator.conformance;

import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;

/** A random program broke a rule. Carries the shortest program that still does. */
final class ProgramFailure extends AssertionFailedError {
    private static final long serialVersionUID = 1L;

    /** The program as a replayable file has it. */
    private final String program;

    private ProgramFailure(String message, String program, @Nullable Throwable cause) {
        super(message, cause);
        this.program = program;
    }

    /** A failure whose message ends with the program. */
    static ProgramFailure of(String message, String program, Throwable cause) {
        return new ProgramFailure(
                message + "\nThe shortest program that shows it (save it, then run it with --replay FILE):\n" + program,
                program,
                cause);
    }

    /** The same failure with something said before it. */
    ProgramFailure after(String preamble) {
        return new ProgramFailure(preamble + getMessage(), program, this);
    }

    String program() {
        return program;
    }
}
