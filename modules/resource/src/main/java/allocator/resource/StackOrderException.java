package allocator.resource;

/** Thrown when resources are stacked in an order that cannot work; the message says which and what to do. */
public final class StackOrderException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what cannot work and what to do instead
     */
    public StackOrderException(String message) {
        super(message);
    }
}
