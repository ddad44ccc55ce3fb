package allocator.runtime;

import java.util.List;

/**
 * Thrown when something cannot be closed, unregistered or replaced yet, because sessions, runs or memory depend on it.
 */
public final class StillInUseException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /** The users, as {@link #users} gives them. */
    private final String[] users;

    /**
     * Makes the exception.
     *
     * @param what the operation that failed, such as {@code the environment cannot be closed}
     * @param users what depends on it, one line each
     */
    StillInUseException(String what, List<String> users) {
        super(what + ": " + String.join("; ", users));
        this.users = users.toArray(String[]::new);
    }

    /**
     * Returns what is still in use, and what uses it.
     *
     * @return at least one line, for a person to read
     */
    public List<String> users() {
        return List.of(users);
    }
}
