package allocator.resource.typed;

import allocator.resource.MemoryResource;
import allocator.resource.StreamBoundResource;
import allocator.resource.StreamOrderedMemoryResource;
import allocator.spi.InvalidSizeException;
import allocator.spi.SyncStream;
import java.lang.foreign.ValueLayout;

/**
 * Allocates arrays of one layout from any resource. Equal allocators can deallocate each other's arrays.
 *
 * @param resource where the memory comes from
 * @param layout the layout of an element
 * @param <L> type of the layout
 */
public record PolymorphicAllocator<L extends ValueLayout>(MemoryResource resource, L layout) {
    /**
     * Allocates an array. Its elements are not initialized.
     *
     * @param count number of elements
     * @return the address of the first element, {@code 0} if {@code count} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; also if the size of the
     *     array overflows
     */
    public long allocate(long count) {
        return resource.allocate(byteSize(layout, count), layout.byteAlignment());
    }

    /**
     * Deallocates an array.
     *
     * @param address what {@link #allocate} returned
     * @param count number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}
     */
    public void deallocate(long address, long count) {
        resource.deallocate(address, byteSize(layout, count), layout.byteAlignment());
    }

    /**
     * {@return an allocator of the same resource for another layout}
     *
     * @param other the layout
     * @param <M> type of the layout
     */
    public <M extends ValueLayout> PolymorphicAllocator<M> with(M other) {
        return new PolymorphicAllocator<>(resource, other);
    }

    /**
     * {@return an allocator of the same layout whose calls are ordered on a stream, as {@link StreamBoundResource} has
     * it: work already queued on the stream may still use an array that is deallocated}
     *
     * @param stream the stream
     * @throws allocator.resource.StackOrderException if the resource is bound to a stream already
     * @throws IllegalArgumentException if the stream is one of another device
     */
    public PolymorphicAllocator<L> on(SyncStream stream) {
        return new PolymorphicAllocator<>(
                new StreamBoundResource(StreamOrderedMemoryResource.of(resource), stream), layout);
    }

    static long byteSize(ValueLayout layout, long count) {
        if (count < 0) {
            throw InvalidSizeException.negative(count);
        }
        if (count > Long.MAX_VALUE / layout.byteSize()) {
            throw new InvalidSizeException(count, "of elements of " + layout.byteSize() + " bytes overflows");
        }
        return count * layout.byteSize();
    }
}
