package allocator.resource.typed;

import allocator.resource.MemoryResource;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.spi.SyncStream;
import java.lang.foreign.ValueLayout;

/**
 * Allocates arrays of one layout in the order of one stream. Equal allocators can deallocate each other's arrays
 * without a wait in between.
 *
 * @param resource where the memory comes from
 * @param layout the layout of an element
 * @param stream the stream that orders every call
 * @param <L> type of the layout
 */
public record StreamOrderedAllocator<L extends ValueLayout>(
        StreamOrderedMemoryResource resource, L layout, SyncStream stream) {
    /**
     * Allocates an array for later work on the stream. Its elements are not initialized.
     *
     * @param count number of elements
     * @return the address of the first element, {@code 0} if {@code count} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; also if the size of the
     *     array overflows
     */
    public long allocate(long count) {
        return resource.allocate(PolymorphicAllocator.byteSize(layout, count), layout.byteAlignment(), stream);
    }

    /**
     * Deallocates an array, in stream order: work already queued on the stream may still use it. If the stream is
     * closed and its work is done, no order is needed, and the array is deallocated without a stream.
     *
     * @param address what {@link #allocate} returned
     * @param count number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}
     */
    public void deallocate(long address, long count) {
        final long byteSize = PolymorphicAllocator.byteSize(layout, count);
        if (stream.hasEnded()) {
            resource.deallocate(address, byteSize, layout.byteAlignment());
        } else {
            resource.deallocate(address, byteSize, layout.byteAlignment(), stream);
        }
    }

    /**
     * Returns an allocator of the same resource and stream for another layout.
     *
     * @param other the layout
     * @param <M> type of the layout
     * @return the allocator
     */
    public <M extends ValueLayout> StreamOrderedAllocator<M> with(M other) {
        return new StreamOrderedAllocator<>(resource, other, stream);
    }

    /**
     * Returns an allocator of the same resource and layout for another stream.
     *
     * @param other the stream
     * @return the allocator
     */
    public StreamOrderedAllocator<L> on(SyncStream other) {
        return new StreamOrderedAllocator<>(resource, layout, other);
    }
}
