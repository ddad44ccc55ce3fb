package allocator.cuda.simulated;

/**
 * Work that may meet other work on the same memory, because nothing orders their streams: memory used before it is
 * ready, reused while in flight, or freed while in use.
 *
 * <p>A real device would go on with whatever bytes there are. Not a {@link allocator.cuda.driver.CudaException}, so
 * that nothing handles it by mistake.
 */
public final class StreamHazardException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    StreamHazardException(String message) {
        super(message);
    }
}
