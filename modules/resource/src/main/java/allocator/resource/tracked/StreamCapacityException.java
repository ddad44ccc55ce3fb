package allocator.resource.tracked;

import allocator.spi.AllocatorException;

/** Thrown when all streams of a pool are acquired. */
public final class StreamCapacityException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** The most streams of the pool. */
    private final int capacity;

    /**
     * Creates the exception.
     *
     * @param capacity the most streams of the pool
     */
    public StreamCapacityException(int capacity) {
        super("all " + capacity + " streams of the pool are acquired; release one or enlarge the pool", null);
        this.capacity = capacity;
    }

    /** {@return the most streams of the pool} */
    public int capacity() {
        return capacity;
    }
}
