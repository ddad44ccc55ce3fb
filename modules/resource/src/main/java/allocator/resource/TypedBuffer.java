package allocator.resource;

import allocator.spi.DataTransfer;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An array of one layout that owns its memory, on any resource, and can change its size. New elements are not
 * initialized.
 *
 * <p>Over a {@link StreamBoundResource} everything, copies included, is ordered on the resource's stream; otherwise a
 * call that copies returns when the bytes are there, and no work may use the buffer meanwhile. For one thread.
 *
 * @param <L> type of the layout
 */
public final class TypedBuffer<L extends ValueLayout> implements AutoCloseable {
    private final PolymorphicAllocator<L> allocator;
    private final DataTransfer transfer;
    private long address;
    private long count;
    private long capacity;

    /** Rises when the memory moves or ends: slices from before are stale. */
    private long moves;

    private boolean isClosed;

    /** A part of a buffer, for as long as the buffer stays where it is. Owns nothing. */
    public final class Slice {
        private final long sliceAddress;
        private final long sliceCount;
        private final long sliceMoves = moves;

        private Slice(long sliceAddress, long sliceCount) {
            this.sliceAddress = sliceAddress;
            this.sliceCount = sliceCount;
        }

        /**
         * How many elements the slice has.
         *
         * @return the number
         */
        public long count() {
            return sliceCount;
        }

        /**
         * Where the slice is, for copies.
         *
         * @return its bytes
         * @throws IllegalStateException if the buffer was moved or closed since
         */
        public MemoryRange range() {
            if (sliceMoves != moves) {
                throw new IllegalStateException("the buffer of this slice was moved or closed");
            }
            return new MemoryRange(resource().memory(), sliceAddress, byteSize(sliceCount));
        }
    }

    /**
     * Makes a buffer.
     *
     * @param resource where the memory comes from
     * @param layout the layout of an element
     * @param count number of elements
     * @param transfer copies the resource's memory when the buffer moves
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}, for the array's size too
     */
    public TypedBuffer(MemoryResource resource, L layout, long count, DataTransfer transfer) {
        this.allocator = new PolymorphicAllocator<>(resource, layout);
        this.transfer = transfer;
        this.address = allocator.allocate(count);
        this.count = count;
        this.capacity = count;
    }

    /**
     * Makes a buffer of memory that the host can copy.
     *
     * @param resource where the memory comes from
     * @param layout the layout of an element
     * @param count number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}, for the array's size too
     */
    public TypedBuffer(MemoryResource resource, L layout, long count) {
        this(resource, layout, count, HostTransfer.INSTANCE);
    }

    /**
     * Where the first element is.
     *
     * @return the address; {@code 0} if nothing is allocated
     * @throws IllegalStateException if the buffer is closed
     */
    public long address() {
        requireOpen();
        return address;
    }

    /**
     * How many elements there are.
     *
     * @return the number
     */
    public long count() {
        return count;
    }

    /**
     * How many elements there can be without moving.
     *
     * @return the number, at least {@link #count}
     */
    public long capacity() {
        return capacity;
    }

    /**
     * Where the elements are, for copies.
     *
     * @return their bytes
     * @throws IllegalStateException if the buffer is closed
     */
    public MemoryRange range() {
        requireOpen();
        return new MemoryRange(resource().memory(), count == 0 ? 0 : address, byteSize(count));
    }

    /**
     * Sees the elements as a segment, valid until the buffer moves or is closed; it is not checked after that.
     *
     * @return the segment
     * @throws IllegalStateException if the buffer is closed
     * @throws IllegalArgumentException if the host cannot reach the memory
     */
    public MemorySegment segment() {
        requireOpen();
        if (!resource().kind().isHostAccessible()) {
            throw new IllegalArgumentException("the host cannot reach the memory of " + resource());
        }
        return HostMemory.segment(address, byteSize(count));
    }

    /**
     * Changes the number of elements. Fewer stay where they are; more than the {@linkplain #capacity capacity} move.
     *
     * @param newCount number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; the buffer is as before
     * @throws IllegalStateException if the buffer is closed
     */
    public void resize(long newCount) {
        reserve(newCount);
        count = newCount;
    }

    /**
     * Makes room, so that {@link #resize} up to a number does not move.
     *
     * @param atLeast number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; the buffer is as before
     * @throws IllegalStateException if the buffer is closed
     */
    public void reserve(long atLeast) {
        requireOpen();
        if (atLeast < 0) {
            throw InvalidSizeException.negative(atLeast);
        }
        if (atLeast > capacity) {
            moveTo(atLeast);
        }
    }

    /**
     * Gives back what is not used, by moving.
     *
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; the buffer is as before
     * @throws IllegalStateException if the buffer is closed
     */
    public void shrinkToFit() {
        requireOpen();
        if (count < capacity) {
            moveTo(count);
        }
    }

    private void moveTo(long newCapacity) {
        final long newAddress = allocator.allocate(newCapacity);
        boolean isCopied = false;
        try {
            copyTo(newAddress);
            isCopied = true;
        } finally {
            if (!isCopied) {
                allocator.deallocate(newAddress, newCapacity);
            }
        }
        final long oldAddress = address;
        final long oldCapacity = capacity;
        address = newAddress;
        capacity = newCapacity;
        moves++;
        allocator.deallocate(oldAddress, oldCapacity);
    }

    private void copyTo(long target) {
        if (count > 0) {
            transfer.copy(range(), new MemoryRange(resource().memory(), target, byteSize(count)), stream());
        }
    }

    /**
     * Makes another buffer with the same elements.
     *
     * @return the copy, to be closed by the caller
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}
     * @throws IllegalStateException if the buffer is closed
     */
    public TypedBuffer<L> copy() {
        requireOpen();
        final TypedBuffer<L> copy = new TypedBuffer<>(resource(), allocator.layout(), count, transfer);
        boolean isCopied = false;
        try {
            copyTo(copy.address);
            isCopied = true;
        } finally {
            if (!isCopied) {
                copy.close();
            }
        }
        return copy;
    }

    /**
     * Sees a part of the buffer.
     *
     * @param from index of its first element
     * @param sliceCount number of elements
     * @return the slice
     * @throws IndexOutOfBoundsException if the buffer has not these elements
     * @throws IllegalStateException if the buffer is closed
     */
    public Slice slice(long from, long sliceCount) {
        requireOpen();
        Objects.checkFromIndexSize(from, sliceCount, count);
        return new Slice(sliceCount == 0 ? 0 : address + byteSize(from), sliceCount);
    }

    /** Gives the memory back. A second call does nothing. */
    @Override
    public void close() {
        if (isClosed) {
            return;
        }
        isClosed = true;
        moves++;
        allocator.deallocate(address, capacity);
    }

    private MemoryResource resource() {
        return allocator.resource();
    }

    private @Nullable SyncStream stream() {
        return resource().context() instanceof MemoryContext.StreamBound bound ? bound.stream() : null;
    }

    private long byteSize(long elements) {
        return PolymorphicAllocator.byteSize(allocator.layout(), elements);
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("the buffer is closed");
        }
    }
}
