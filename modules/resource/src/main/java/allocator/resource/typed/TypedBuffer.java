package allocator.resource.typed;

import allocator.resource.MemoryContext;
import allocator.resource.MemoryResource;
import allocator.resource.base.NativeMemory;
import allocator.spi.DataTransfer;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryRange;
import allocator.spi.SyncStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A resizable array of one layout that owns its memory, on any resource. New elements are not initialized.
 *
 * <p>Over a {@link allocator.resource.StreamBoundResource}, all calls, copies included, are ordered on its stream.
 * Otherwise a call that copies returns when the copy is complete, and no work may use the buffer during the call. A
 * call of a closed buffer throws an {@link IllegalStateException}; {@link #count}, {@link #capacity} and {@link #close}
 * do not. Not thread-safe.
 *
 * @param <L> type of the layout
 */
public final class TypedBuffer<L extends ValueLayout> implements AutoCloseable {
    private final PolymorphicAllocator<L> allocator;
    private final DataTransfer transfer;
    private long address;
    private long count;
    private long capacity;

    /** Number of times the memory moved or was deallocated; older slices are stale. */
    private long moves;

    private boolean isClosed;

    /** A view of part of a buffer, valid until the buffer moves or is closed. It owns no memory. */
    public final class Slice {
        private final long sliceAddress;
        private final long sliceCount;
        private final long sliceMoves = moves;

        private Slice(long sliceAddress, long sliceCount) {
            this.sliceAddress = sliceAddress;
            this.sliceCount = sliceCount;
        }

        /** {@return the number of elements} */
        public long count() {
            return sliceCount;
        }

        /**
         * {@return the memory of the slice, for copies}
         *
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
     * Creates a buffer.
     *
     * @param resource where the memory comes from
     * @param layout the layout of an element
     * @param count number of elements
     * @param transfer copies the resource's memory when the buffer moves
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; also if the size of the
     *     array overflows
     */
    public TypedBuffer(MemoryResource resource, L layout, long count, DataTransfer transfer) {
        this(new PolymorphicAllocator<>(resource, layout), transfer);
        hold(allocator.allocate(count), count);
    }

    /** Creates a buffer without memory. */
    private TypedBuffer(PolymorphicAllocator<L> allocator, DataTransfer transfer) {
        this.allocator = allocator;
        this.transfer = transfer;
    }

    private void hold(long newAddress, long newCount) {
        address = newAddress;
        count = newCount;
        capacity = newCount;
    }

    /**
     * Creates a buffer in host-accessible memory; the host copies it when it moves.
     *
     * @param resource where the memory comes from
     * @param layout the layout of an element
     * @param count number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; also if the size of the
     *     array overflows
     */
    public TypedBuffer(MemoryResource resource, L layout, long count) {
        this(resource, layout, count, HostTransfer.INSTANCE);
    }

    /** {@return the address of the first element; {@code 0} if nothing is allocated} */
    public long address() {
        requireOpen();
        return address;
    }

    /** {@return the number of elements} */
    public long count() {
        return count;
    }

    /** {@return how many elements fit without moving, at least {@link #count}} */
    public long capacity() {
        return capacity;
    }

    /** {@return the memory of the elements, for copies} */
    public MemoryRange range() {
        requireOpen();
        return new MemoryRange(resource().memory(), count == 0 ? 0 : address, byteSize(count));
    }

    /**
     * {@return a segment over the elements} The caller must not use it after the buffer moves or is closed: its
     * accesses are not checked.
     *
     * @throws IllegalArgumentException if the host cannot access the memory
     */
    public MemorySegment segment() {
        requireOpen();
        if (!resource().kind().isHostAccessible()) {
            throw new IllegalArgumentException("the host cannot access the memory of " + resource());
        }
        return NativeMemory.segment(address, byteSize(count));
    }

    /**
     * Changes the number of elements. The buffer moves only if they exceed the {@linkplain #capacity capacity}.
     *
     * @param newCount number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; the buffer is as before
     */
    public void resize(long newCount) {
        reserve(newCount);
        count = newCount;
    }

    /**
     * Ensures a capacity, so that {@link #resize} up to it does not move the buffer.
     *
     * @param atLeast number of elements
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; the buffer is as before
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
     * Reduces the capacity to the number of elements, by moving the buffer.
     *
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}; the buffer is as before
     */
    public void shrinkToFit() {
        requireOpen();
        if (count < capacity) {
            moveTo(count);
        }
    }

    private void moveTo(long newCapacity) {
        final long newAddress = allocateCopy(newCapacity);
        final long oldAddress = address;
        final long oldCapacity = capacity;
        address = newAddress;
        capacity = newCapacity;
        moves++;
        allocator.deallocate(oldAddress, oldCapacity);
    }

    /** Allocates memory and copies the elements into it. */
    private long allocateCopy(long newCapacity) {
        final long newAddress = allocator.allocate(newCapacity);
        try {
            copyTo(newAddress);
            return newAddress;
        } catch (Throwable e) {
            allocator.deallocate(newAddress, newCapacity);
            throw e;
        }
    }

    private void copyTo(long target) {
        if (count > 0) {
            transfer.copy(range(), new MemoryRange(resource().memory(), target, byteSize(count)), stream());
        }
    }

    /**
     * Creates another buffer with the same elements.
     *
     * @return the copy, to be closed by the caller
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}
     */
    public TypedBuffer<L> copy() {
        requireOpen();
        final TypedBuffer<L> copy = new TypedBuffer<>(allocator, transfer);
        copy.hold(allocateCopy(count), count);
        return copy;
    }

    /**
     * {@return a view of part of the buffer}
     *
     * @param from index of its first element
     * @param sliceCount number of elements
     * @throws IndexOutOfBoundsException if the range is not within the elements
     */
    public Slice slice(long from, long sliceCount) {
        requireOpen();
        Objects.checkFromIndexSize(from, sliceCount, count);
        return new Slice(sliceCount == 0 ? 0 : address + byteSize(from), sliceCount);
    }

    /**
     * Deallocates the memory. A second call does nothing, unless the resource rejected the first.
     *
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}; the buffer is
     *     closed
     */
    @Override
    public void close() {
        if (!isClosed) {
            isClosed = true;
            moves++;
        }
        if (address != 0) {
            allocator.deallocate(address, capacity);
            address = 0;
        }
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
