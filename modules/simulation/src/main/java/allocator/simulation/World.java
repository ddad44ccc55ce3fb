package allocator.simulation;

/** A system under test with an obvious model beside it. A violation throws an {@link AssertionError}. */
public interface World {
    /**
     * Performs an operation and checks what it did. Called by one simulated thread; others go on while instrumented
     * code runs in it.
     *
     * @param thread the number of the thread
     * @param op the operation
     */
    void perform(int thread, Op op);

    /**
     * Returns whether the system stays usable where the stack ends in a call; otherwise no stack ends in one.
     *
     * @return true unless overridden
     */
    default boolean staysUsableAtStackEnd() {
        return true;
    }

    /**
     * Checks the whole, frees everything, closes and checks that nothing is out. Called by one thread after all others
     * have ended.
     */
    void finish();

    /**
     * Describes the settings.
     *
     * @return the settings, for a report
     */
    @Override
    String toString();
}
