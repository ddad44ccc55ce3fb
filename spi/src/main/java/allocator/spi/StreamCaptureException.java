package allocator.spi;

/**
 * Thrown when a call cannot be made on a stream that is being captured into a graph: what is submitted to such a stream
 * is recorded and done whenever the graph is launched, so it can neither be waited for nor order memory (T-10). The
 * call has had no effect, and the capture goes on.
 */
public final class StreamCaptureException extends AllocatorException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message names the stream and the call, and what to do
     */
    public StreamCaptureException(String message) {
        super(message, null);
    }
}
