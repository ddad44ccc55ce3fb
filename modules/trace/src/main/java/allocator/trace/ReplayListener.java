package allocator.trace;

/** Hears how far a replay is. It is called between timed pieces of work, on the thread that replays. */
@FunctionalInterface
public interface ReplayListener {
    /** Hears nothing. */
    ReplayListener NONE = (done, step) -> {};

    /**
     * Some work is done.
     *
     * @param done how much of all, from 0 to 1; never less than before
     * @param step what comes now, in a few words for a person
     */
    void progress(double done, String step);
}
