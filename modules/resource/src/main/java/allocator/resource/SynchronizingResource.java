package allocator.resource;

import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;

/** Adapts a resource without stream order to callers with streams: a deallocation waits for its stream. */
final class SynchronizingResource implements StreamOrderedMemoryResource {
    private final MemoryResource upstream;

    SynchronizingResource(MemoryResource upstream) {
        this.upstream = upstream;
    }

    @Override
    public MemoryInfo memory() {
        return upstream.memory();
    }

    @Override
    public MemoryKind kind() {
        return upstream.kind();
    }

    @Override
    public MemoryContext context() {
        return upstream.context();
    }

    @Override
    public long allocate(long byteSize, long byteAlignment) {
        return upstream.allocate(byteSize, byteAlignment);
    }

    @Override
    public long reserve(long byteSize, long byteAlignment) {
        return upstream.reserve(byteSize, byteAlignment);
    }

    @Override
    public long allocate(long byteSize, long byteAlignment, SyncStream stream) {
        requireNotBoundToAnother(stream);
        return upstream.allocate(byteSize, byteAlignment);
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        upstream.deallocate(address, byteSize, byteAlignment);
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream) {
        requireNotBoundToAnother(stream);
        if (address != 0 && upstream.context().equals(MemoryContext.ANY)) {
            await(stream);
        }
        upstream.deallocate(address, byteSize, byteAlignment);
    }

    /**
     * Waits until the work of a stream is complete.
     *
     * @throws IllegalStateException if the stream is closed and its work is not known to be done
     */
    static void await(SyncStream stream) {
        try {
            stream.flush();
        } catch (IllegalStateException e) {
            if (!stream.hasEnded()) {
                throw e;
            }
        }
    }

    private void requireNotBoundToAnother(SyncStream stream) {
        if (upstream.context() instanceof MemoryContext.StreamBound bound
                && bound.stream().id() != stream.id()) {
            throw new IllegalArgumentException(
                    upstream + " is bound to " + bound.stream() + " and cannot serve " + stream);
        }
    }

    @Override
    public ShrinkReport shrink() {
        return upstream.shrink();
    }

    @Override
    public List<MemoryResource> upstreams() {
        return List.of(upstream);
    }

    @Override
    public String toString() {
        return upstream.toString();
    }
}
