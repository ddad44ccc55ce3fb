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
    private long allocations;

    Task(Thread thread) {
        this.thread = thread;
    }

    /** Begins an operation in which this fails. */
    public void begin(Failpoint planned) {
        allocations = 0;
        failpoint = planned;
    }

    /** Ends an operation. */
    public void end() {
        failpoint = Failpoint.NONE;
    }

    void allocated() {
        if (failpoint.fails(++allocations)) {
            throw new OutOfMemoryError(Failpoint.MESSAGE);
        }
    }
}
