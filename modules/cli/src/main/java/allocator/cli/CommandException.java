package allocator.cli;

import org.jspecify.annotations.Nullable;

/** Ends a command with a line on standard error and exit code 1: the command failed. */
class CommandException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CommandException(String message) {
        this(message, null);
    }

    CommandException(@Nullable String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    int exitCode() {
        return 1;
    }
}
