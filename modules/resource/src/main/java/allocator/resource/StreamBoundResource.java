package allocator.resource;

import allocator.provider.support.internal.SameDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Binds a stream-ordered resource to one stream, for callers that have no stream to pass. Every call is ordered on that
 * stream, and only later work on it may use the memory.
 *
 * <p>Once the stream is closed and its work is done, memory is deallocated without a stream.
 */
public final class StreamBoundResource implements MemoryResource {
    private final StreamOrderedMemoryResource upstream;
    private final SyncStream stream;

    /**
     * Binds a resource to a stream.
     *
     * @param upstream the resource
     * @param stream the stream
     * @throws StackOrderException if the resource is already bound to a stream
     * @throws IllegalArgumentException if the stream is one of another device
     */
    public StreamBoundResource(StreamOrderedMemoryResource upstream, SyncStream stream) {
        if (!upstream.context().equals(MemoryContext.ANY)) {
            throw new StackOrderException(upstream + " is already bound to a stream: " + upstream.context());
        }
        SameDevice.require(stream, upstream.memory());
        this.upstream = upstream;
        this.stream = stream;
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
        return new MemoryContext.StreamBound(stream);
    }

    @Override
    public long allocate(long byteSize, long byteAlignment) {
        return upstream.allocate(byteSize, byteAlignment, stream);
    }

    @Override
    public void deallocate(long address, long byteSize, long byteAlignment) {
        deallocate(upstream, address, byteSize, byteAlignment, stream);
    }

    /**
     * Deallocates memory on a stream, or without one if the stream has ended, be it during this call: its work is then
     * done, and no order is needed.
     *
     * @param stream the stream, {@code null} for none
     * @throws IllegalStateException if the stream is closed and has not ended; the memory is live
     */
    static void deallocate(
            StreamOrderedMemoryResource resource,
            long address,
            long byteSize,
            long byteAlignment,
            @Nullable SyncStream stream) {
        if (stream == null || stream.hasEnded()) {
            resource.deallocate(address, byteSize, byteAlignment);
            return;
        }
        try {
            resource.deallocate(address, byteSize, byteAlignment, stream);
        } catch (IllegalStateException e) {
            if (!stream.hasEnded()) {
                throw e;
            }
            resource.deallocate(address, byteSize, byteAlignment);
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
        return "StreamBound(" + upstream + ", " + stream + ")";
    }
}
