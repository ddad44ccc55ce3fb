package allocator.conformance;

import org.opentest4j.AssertionFailedError;

/** A call of the provider did not return in time. The message ends with what every thread was doing. */
final class HangError extends AssertionFailedError {
    private static final long serialVersionUID = 1L;

    HangError(String message) {
        super(message);
    }
}
