package allocator.runtime.lifetime;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Steps that are all attempted although some fail. The first failure is the one to throw; the others are suppressed in
 * it. Not for use by several threads.
 */
public final class Cleanup {
    private final Deque<Runnable> undo = new ArrayDeque<>();
    private @Nullable RuntimeException first;

    /** Starts without steps and failures. */
    public Cleanup() {}

    /**
     * Runs a step and records its failure.
     *
     * @param step the step
     */
    public void attempt(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            add(e);
        }
    }

    /**
     * Records a failure.
     *
     * @param failure the failure
     */
    public void add(RuntimeException failure) {
        if (first == null) {
            first = failure;
        } else if (!first.equals(failure)) {
            first.addSuppressed(failure);
        }
    }

    /**
     * Adds a step that undoes what was just done.
     *
     * @param step run by {@link #undo}
     */
    public void onUndo(Runnable step) {
        undo.push(step);
    }

    /**
     * Runs the undo steps, last one first.
     *
     * @param cause why
     * @return {@code cause}, with the failures of the steps suppressed in it
     */
    public RuntimeException undo(RuntimeException cause) {
        add(cause);
        undo.forEach(this::attempt);
        return cause;
    }

    /** Throws the first failure, if there was one. */
    public void throwIfAny() {
        if (first != null) {
            throw first;
        }
    }

    /**
     * Adds the failures to an exception that is about to be thrown.
     *
     * @param thrown the exception
     */
    public void suppressIn(Throwable thrown) {
        if (first != null && !first.equals(thrown)) {
            thrown.addSuppressed(first);
        }
    }
}
