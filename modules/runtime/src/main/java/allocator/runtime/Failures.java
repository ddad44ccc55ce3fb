package allocator.runtime;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** Steps that are all taken although some fail; the first failure is kept, the others are suppressed in it. */
final class Failures {
    private final Deque<Runnable> undo = new ArrayDeque<>();
    private @Nullable RuntimeException first;

    /** Takes a step. */
    void attempt(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            add(e);
        }
    }

    void add(RuntimeException failure) {
        if (first == null) {
            first = failure;
        } else if (!first.equals(failure)) {
            first.addSuppressed(failure);
        }
    }

    /** Remembers how to undo what was just done. */
    void onUndo(Runnable step) {
        undo.push(step);
    }

    /** Undoes everything, last first, and returns the cause with whatever failed meanwhile. */
    RuntimeException undo(RuntimeException cause) {
        add(cause);
        undo.forEach(this::attempt);
        return cause;
    }

    /** Throws the first failure, if there was one. */
    void throwIfAny() {
        if (first != null) {
            throw first;
        }
    }

    /** Adds what failed to an exception that is on its way already. */
    void suppressIn(Throwable thrown) {
        if (first != null && !first.equals(thrown)) {
            thrown.addSuppressed(first);
        }
    }
}
