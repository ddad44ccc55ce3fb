package allocator.runtime;

/**
 * The work of a run.
 *
 * @param <X> what it may throw
 */
@FunctionalInterface
public interface RunWork<X extends Exception> {
    /**
     * Does the work.
     *
     * @param run the run, valid until this method returns
     * @throws X whatever the work throws; the run is ended all the same
     */
    void execute(Run run) throws X;
}
