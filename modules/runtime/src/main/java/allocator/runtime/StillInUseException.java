package allocator.runtime;

import java.util.List;

/** Thrown when something cannot be closed, unregistered or replaced yet: sessions, runs or memory depend on it. */
public final class StillInUseException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    private static final String FREED_SINCE = "a block was live, and has been freed since";

    /** The users, as {@link #users} gives them. */
    private final String[] users;

    /**
     * Makes the exception.
     *
     * @param what the operation that failed, such as {@code the environment cannot be closed}
     * @param users what depends on it, one line each; none if that has ended since
     */
    StillInUseException(String what, List<String> users) {
        this(what, users.isEmpty() ? new String[] {FREED_SINCE} : users.toArray(String[]::new));
    }

    private StillInUseException(String what, String[] users) {
        super(what + ": " + String.join("; ", users));
        this.users = users;
    }

    /** {@return what is still in use, and what uses it: at least one line, for a person to read} */
    public List<String> users() {
        return List.of(users);
    }
}
