package allocator.arena.upstream;

import org.jspecify.annotations.Nullable;

/** Collects failures, so that all work is attempted; throws the first one at the end, with the others suppressed. */
public final class Failures {
    private @Nullable RuntimeException first;

    /** Adds a failure; {@code null} is none. */
    @SuppressWarnings("ReferenceEquality") // an exception may be thrown twice, but not be suppressed by itself
    public void add(@Nullable RuntimeException failure) {
        if (first == null) {
            first = failure;
        } else if (failure != null && failure != first) {
            first.addSuppressed(failure);
        }
    }

    /** Runs an action and adds the exception that it throws. */
    public void run(Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            add(e);
        }
    }

    /** Throws the first failure, if there was one. */
    public void throwIfAny() {
        if (first != null) {
            throw first;
        }
    }
}
