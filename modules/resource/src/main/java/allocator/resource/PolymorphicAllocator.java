package allocator.resource;

import allocator.spi.InvalidSizeException;
import java.lang.foreign.ValueLayout;

/**
 * Allocates arrays of one layout from any resource. Two are equal if one can deallocate what the other allocated.
 *
 * @param resource where the memory comes from
 * @param layout the layout of an element
 * @param <L> type of the layout
 */
public record PolymorphicAllocator<L extends ValueLayout>(MemoryResource resource, L layout) {
    /**
     * Allocates an array; its elements are not initialized.
     *
     * @param count number of elements
     * @return the address of the first, {@code 0} if {@code count} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}, for the array's size too
     */
    public long allocate(long count) {
        return resource.allocate(byteSize(layout, count), layout.byteAlignment());
    }

    /**
     * Gives an array back.
     *
     * @param address what {@link #allocate} returned
     * @param count number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}
     */
    public void deallocate(long address, long count) {
        resource.deallocate(address, byteSize(layout, count), layout.byteAlignment());
    }

    /**
     * The same resource for elements of another layout.
     *
     * @param other the layout
     * @param <M> type of the layout
     * @return the allocator
     */
    public <M extends ValueLayout> PolymorphicAllocator<M> with(M other) {
        return new PolymorphicAllocator<>(resource, other);
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
