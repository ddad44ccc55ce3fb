package allocator.simulation.schedule;

/** A simulated thread. */
public final class Task {
    final Thread thread;
    /** The step of the scheduler from which this thread may go on. */
    long pausedUntil;

    boolean hasEnded;

    /** Whether the product runs, and not the model beside it. */
    boolean isInProduct;

    /** How many classes are being initialized, which happens once in a JVM and is no part of the program. */
    int initializations;

    /** The monitor of which this thread awaits a notification; null if of none. */
    Object awaited;

    private Failpoint failpoint = Failpoint.NONE;
    private long calls;
    private long allocations;

    Task(Thread thread) {
        this.thread = thread;
    }

    /**
     * Begins an operation.
     *
     * @param planned what fails in it
     */
    public void begin(Failpoint planned) {
        calls = 0;
        allocations = 0;
        failpoint = planned;
    }

    /** Ends an operation. */
    public void end() {
        failpoint = Failpoint.NONE;
    }

    void called() {
        if (failpoint != Failpoint.NONE && failpoint.fails(Failpoint.Kind.STACK, ++calls)) {
            throw new StackOverflowError(Failpoint.MESSAGE + "stack");
        }
    }

    void allocated() {
        if (failpoint != Failpoint.NONE && failpoint.fails(Failpoint.Kind.HEAP, ++allocations)) {
            throw new OutOfMemoryError(Failpoint.MESSAGE + "Java heap");
        }
    }

    /** The end of the stack that lies ahead is reached here, or never. */
    void touchedStack() {
        if (failpoint.isStackEndAhead(calls)) {
            failpoint = Failpoint.NONE;
            throw new StackOverflowError(Failpoint.MESSAGE + "stack");
        }
    }
}
