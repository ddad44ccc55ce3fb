package allocator.plan;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Thrown if a file of blocks cannot be read. The message names file, line and reason in one line of text. */
public final class PlanFileException extends IOException {
    private static final long serialVersionUID = 1L;

    /** The line, from 1; 0 for the whole file. */
    private final long line;

    PlanFileException(String file, long line, String reason, @Nullable Throwable cause) {
        super(line == 0 ? file + ": " + reason : file + ":" + line + ": " + reason, cause);
        this.line = line;
    }

    /** {@return the number of the invalid line, from 1; {@code 0} for the whole file} */
    public long line() {
        return line;
    }
}
