package allocator.trace;

/** Receives the progress of a replay. Called between timed slices, on the thread that replays. */
@FunctionalInterface
public interface ReplayListener {
    /** Ignores the progress. */
    ReplayListener NONE = (done, step) -> {};

    /**
     * Reports progress.
     *
     * @param done the fraction done, from 0 to 1; never falls
     * @param step the current step, in a few words for a person to read
     */
    void progress(double done, String step);
}
