package allocator.resource;

/** Thrown when resources are stacked in an invalid order. The message names the order to use instead. */
public final class StackOrderException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message what is wrong and what to do instead
     */
    public StackOrderException(String message) {
        super(message);
    }
}
