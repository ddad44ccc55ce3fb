package allocator.resource.log;

import allocator.resource.MemoryResource;
import allocator.resource.ResourceDecorator;
import allocator.resource.StackOrderException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** Reports every allocation and deallocation to a {@link ResourceLog}. */
public final class LoggingResource extends ResourceDecorator {
    private final ResourceLog log;

    /**
     * Decorates a resource.
     *
     * @param upstream the resource
     * @param log receives the calls
     * @throws StackOrderException if the upstream already writes to the same log
     */
    public LoggingResource(MemoryResource upstream, ResourceLog log) {
        super(upstream);
        requireNone(
                upstream,
                resource -> resource instanceof LoggingResource other && other.log.equals(log),
                "the same log is already written below and would show every address live twice; use one log each");
        this.log = log;
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        final long address;
        try {
            address = allocateUpstream(byteSize, byteAlignment, stream);
        } catch (OutOfMemoryException e) {
            log.failed(byteSize, stream);
            throw e;
        }
        log.allocated(address, byteSize, stream);
        return address;
    }

    @Override
    protected void doDeallocate(long address, long byteSize, long byteAlignment, @Nullable SyncStream stream) {
        log.freed(address, byteSize, stream);
        deallocateUpstream(address, byteSize, byteAlignment, stream);
    }
}
