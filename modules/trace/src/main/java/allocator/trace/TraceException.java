package allocator.trace;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Thrown for a trace that cannot be read: says which file, which line and why, in one line of text. */
public final class TraceException extends IOException {
    private static final long serialVersionUID = 1L;

    /** The trace. */
    private final String trace;

    /** The line, from 1; 0 if the whole file is meant. */
    private final long line;

    /** What is wrong. */
    private final String reason;

    TraceException(String trace, long line, String reason, @Nullable Throwable cause) {
        super(line == 0 ? trace + ": " + reason : trace + ":" + line + ": " + reason, cause);
        this.trace = trace;
        this.line = line;
        this.reason = reason;
    }

    /**
     * The trace.
     *
     * @return its file as it was given, or its name
     */
    public String trace() {
        return trace;
    }

    /**
     * The line that is wrong.
     *
     * @return its number, from 1; {@code 0} if the whole file is meant
     */
    public long line() {
        return line;
    }

    /**
     * What is wrong.
     *
     * @return the reason, without file and line
     */
    public String reason() {
        return reason;
    }
}
