package allocator.runtime;

/**
 * The work of a run.
 *
 * @param <X> the type of exception that it may throw
 */
@FunctionalInterface
public interface RunWork<X extends Exception> {
    /**
     * Runs the work.
     *
     * @param run the run, valid until this method returns
     * @throws X if the work fails; the run is ended nevertheless
     */
    void execute(Run run) throws X;
}
