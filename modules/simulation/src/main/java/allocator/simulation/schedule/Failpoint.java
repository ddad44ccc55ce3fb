package allocator.simulation.schedule;

/**
 * Where the Java heap ends in one operation: the creation of objects fails there with an {@link OutOfMemoryError}.
 *
 * @param first the first object that is not created, from 1; 0 for none
 * @param count how many in a row are not, as a handler may create some as well
 */
public record Failpoint(int first, int count) {
    /** Fails nothing. */
    public static final Failpoint NONE = new Failpoint(0, 0);

    /** Marks a failure as simulated. */
    public static final String MESSAGE = "simulated end of the Java heap";

    boolean fails(long number) {
        return first > 0 && number >= first && number < first + count;
    }

    @Override
    public String toString() {
        return first == 0 ? "" : " [the heap ends at " + first + " for " + count + "]";
    }
}
