package allocator.cli;

import org.jspecify.annotations.Nullable;

/** Ends a command with a line on standard error and exit code 2: the arguments are wrong. */
final class UsageException extends CommandException {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        this(message, null);
    }

    UsageException(@Nullable String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    @Override
    int exitCode() {
        return 2;
    }
}
