package allocator.simulation.schedule;

/**
 * What instrumented code throws during one operation: the end of the stack or of the Java heap, at one of its calls.
 */
public final class Failpoint {
    /** Throws nothing. */
    public static final Failpoint NONE = new Failpoint(Kind.NONE, 0, 0);

    /** What ends. */
    public enum Kind {
        /** Nothing. */
        NONE,
        /** The thread's stack: calls fail with a {@link StackOverflowError}. */
        STACK,
        /** The Java heap: the creation of objects fails with an {@link OutOfMemoryError}. */
        HEAP
    }

    /** Marks a failure as simulated. */
    public static final String MESSAGE = "simulated end of the ";

    private final Kind kind;
    private final int first;
    private final int count;

    /**
     * Plans failures.
     *
     * @param kind what ends
     * @param first the first call that fails, from 1
     * @param count how many calls fail in a row, as a handler may call as well
     */
    public Failpoint(Kind kind, int first, int count) {
        this.kind = kind;
        this.first = first;
        this.count = count;
    }

    boolean fails(Kind called, long number) {
        return kind == called && number >= first && number < first + count;
    }

    /** Returns whether the stack is planned to end and has not ended before a call. */
    boolean isStackEndAhead(long number) {
        return kind == Kind.STACK && number < first + count;
    }

    /** Returns whether it is the stack that ends. */
    public boolean isStackEnd() {
        return kind == Kind.STACK;
    }

    @Override
    public String toString() {
        return kind == Kind.NONE ? "" : " [" + kind + " ends at " + first + " for " + count + "]";
    }
}
