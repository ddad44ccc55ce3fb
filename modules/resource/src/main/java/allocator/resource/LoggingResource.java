package allocator.resource;

import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** Tells a log what goes through. */
public final class LoggingResource extends ResourceDecorator {
    private final ResourceLog log;

    /**
     * Logs what goes through to a resource.
     *
     * @param upstream the resource
     * @param log who is told
     * @throws StackOrderException if the upstream tells the same log already
     */
    public LoggingResource(MemoryResource upstream, ResourceLog log) {
        super(upstream);
        requireNone(
                upstream,
                resource -> resource instanceof LoggingResource other && other.log.equals(log),
                "the same log is written below already and would show every address live twice; give each its own");
        this.log = log;
    }

    @Override
    protected long take(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long address;
        try {
            address = takeUpstream(byteSize, byteAlignment, stream);
        } catch (OutOfMemoryException e) {
            log.failed(byteSize, stream);
            throw e;
        }
        log.allocated(address, byteSize, stream);
        return address;
    }

    @Override
    protected void giveBack(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        log.freed(address, byteSize, stream);
        giveBackUpstream(address, byteSize, byteAlignment, stream);
    }
}
