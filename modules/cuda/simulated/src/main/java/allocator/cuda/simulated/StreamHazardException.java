package allocator.cuda.simulated;

/**
 * A data race between streams: work that accesses memory which other, incomplete work accesses too, without an event
 * that orders them. Typical causes are memory used before its allocation is complete, memory reused while in flight,
 * and memory freed while in use.
 *
 * <p>A real device would continue with undefined bytes. This is not a {@link allocator.cuda.driver.CudaException}, so
 * that code that handles failures of the driver does not handle it by mistake.
 */
public final class StreamHazardException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /**
     * Describes a hazard.
     *
     * @param message both operations, and the memory they access
     */
    public StreamHazardException(String message) {
        super(message);
    }
}
