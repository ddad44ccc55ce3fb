package allocator.resource;

import allocator.spi.SyncStream;
import java.lang.foreign.ValueLayout;

/**
 * Allocates arrays of one layout in the order of one stream. Two are equal if one can deallocate what the other
 * allocated, without a wait between them.
 *
 * @param resource where the memory comes from
 * @param layout the layout of an element
 * @param stream the stream that orders every call
 * @param <L> type of the layout
 */
public record StreamOrderedAllocator<L extends ValueLayout>(
        StreamOrderedMemoryResource resource, L layout, SyncStream stream) {
    /**
     * Allocates an array for later work on the stream; its elements are not initialized.
     *
     * @param count number of elements
     * @return the address of the first, {@code 0} if {@code count} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}, for the array's size too
     */
    public long allocate(long count) {
        return resource.allocate(PolymorphicAllocator.byteSize(layout, count), layout.byteAlignment(), stream);
    }

    /**
     * Gives an array back, after the work that is queued on the stream now.
     *
     * @param address what {@link #allocate} returned
     * @param count number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}
     */
    public void deallocate(long address, long count) {
        resource.deallocate(address, PolymorphicAllocator.byteSize(layout, count), layout.byteAlignment(), stream);
    }

    /**
     * The same resource and stream for elements of another layout.
     *
     * @param other the layout
     * @param <M> type of the layout
     * @return the allocator
     */
    public <M extends ValueLayout> StreamOrderedAllocator<M> with(M other) {
        return new StreamOrderedAllocator<>(resource, other, stream);
    }

    /**
     * The same resource and layout on another stream.
     *
     * @param other the stream
     * @return the allocator
     */
    public StreamOrderedAllocator<L> on(SyncStream other) {
        return new StreamOrderedAllocator<>(resource, layout, other);
    }
}
