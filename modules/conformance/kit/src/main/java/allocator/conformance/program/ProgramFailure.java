package allocator.conformance.program;

import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;

/** Thrown when a random program broke a rule. Carries the shortest program that still breaks it. */
public final class ProgramFailure extends AssertionFailedError {
    private static final long serialVersionUID = 1L;

    /** The program, as a replayable file. */
    private final String program;

    private ProgramFailure(String message, String program, @Nullable Throwable cause) {
        super(message, cause);
        this.program = program;
    }

    /** Returns a failure whose message ends with the program. */
    static ProgramFailure of(String message, String program, Throwable cause) {
        return new ProgramFailure(
                message + "\nThe shortest program that shows it (save it, then run it with --replay FILE):\n" + program,
                program,
                cause);
    }

    /** Returns the same failure with a preamble before its message. */
    public ProgramFailure after(String preamble) {
        return new ProgramFailure(preamble + getMessage(), program, this);
    }

    /** Returns the program, as a replayable file. */
    public String program() {
        return program;
    }
}
