package allocator.trace;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Thrown if a trace cannot be read. The message names file, line and reason in one line of text. */
public final class TraceException extends IOException {
    private static final long serialVersionUID = 1L;

    /** The trace. */
    private final String trace;

    /** The line, from 1; 0 for the whole file. */
    private final long line;

    /** What is wrong. */
    private final String reason;

    TraceException(String trace, long line, String reason, @Nullable Throwable cause) {
        super(line == 0 ? trace + ": " + reason : trace + ":" + line + ": " + reason, cause);
        this.trace = trace;
        this.line = line;
        this.reason = reason;
    }

    /** {@return the trace, its file as given, or its name} */
    public String trace() {
        return trace;
    }

    /** {@return the number of the invalid line, from 1; {@code 0} for the whole file} */
    public long line() {
        return line;
    }

    /** {@return what is wrong, without file and line} */
    public String reason() {
        return reason;
    }
}
