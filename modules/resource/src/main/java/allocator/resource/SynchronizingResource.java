package allocator.resource;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** Adapts a resource without stream order to callers with streams, as every decorator does, and adds nothing. */
final class SynchronizingResource extends ResourceDecorator {
    SynchronizingResource(MemoryResource upstream) {
        super(upstream);
    }

    @Override
    protected long doAllocate(long byteSize, long byteAlignment, @Nullable SyncStream stream, boolean isReserve) {
        return allocateUpstream(byteSize, byteAlignment, stream, isReserve);
    }

    @Override
    public String toString() {
        return upstream().toString();
    }
}
