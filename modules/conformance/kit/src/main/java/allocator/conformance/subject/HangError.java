package allocator.conformance.subject;

import org.opentest4j.AssertionFailedError;

/** Thrown when a call of the provider exceeds its time limit. The message ends with a thread dump. */
public final class HangError extends AssertionFailedError {
    private static final long serialVersionUID = 1L;

    HangError(String message) {
        super(message);
    }
}
