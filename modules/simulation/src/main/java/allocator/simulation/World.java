package allocator.simulation;

/** A system under test with an obvious model beside it. A violation throws an {@link AssertionError}. */
public interface World {
    /**
     * Performs an operation and checks what it did. Called by one simulated thread, of this number; others go on while
     * instrumented code runs in it.
     */
    void perform(int thread, Op op);

    /** Checks the whole, frees everything, closes and checks that nothing is out, on one thread after all others. */
    void finish();

    /** Returns the settings, for a report. */
    @Override
    String toString();
}
