package allocator.conformance.runner;

import java.io.IOException;

/** Thrown if a report cannot be written, although the arguments are right. */
final class OutputException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    OutputException(String message, IOException cause) {
        super(message, cause);
    }
}
