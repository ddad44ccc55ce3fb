package allocator.resource;

import allocator.spi.AllocatorException;

/** Thrown when every stream of a pool is out. */
public final class StreamCapacityException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /** How many streams there are. */
    private final int capacity;

    /**
     * Makes the exception.
     *
     * @param capacity how many streams there are
     */
    public StreamCapacityException(int capacity) {
        super("all " + capacity + " streams of the pool are out; give one back or make the pool larger", null);
        this.capacity = capacity;
    }

    /**
     * How many streams there are.
     *
     * @return the pool's capacity
     */
    public int capacity() {
        return capacity;
    }
}
