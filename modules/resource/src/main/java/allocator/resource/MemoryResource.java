package allocator.resource;

import allocator.spi.AllocatorClosedException;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import java.util.List;

/**
 * A source of memory of one kind on one device.
 *
 * <p>Unlike an {@link allocator.spi.Allocator} it is told size and alignment again when memory comes back, so that what
 * lies between, such as a budget, need not remember them. Safe for use by any thread; memory may be deallocated by
 * another thread than the one that allocated it. Calls may block on the driver.
 *
 * <p>Memory of one resource can be deallocated through that resource only; a decorator and its upstream are two
 * resources.
 */
public interface MemoryResource extends AutoCloseable {
    /**
     * Where the memory is, what it is called in messages, and the alignment of what is allocated without naming one.
     *
     * @return the same info on every call
     */
    MemoryInfo memory();

    /**
     * Who can reach the memory.
     *
     * @return the same kind on every call
     */
    MemoryKind kind();

    /**
     * Where the memory may be used without synchronization.
     *
     * @return the context; {@link MemoryContext#ANY} unless a resource says otherwise
     */
    default MemoryContext context() {
        return MemoryContext.ANY;
    }

    /**
     * Allocates memory that may be used in this resource's {@linkplain #context context} as soon as this method
     * returns. The bytes are not initialized; they belong to the caller until they are deallocated.
     *
     * @implSpec Live allocations never overlap. The alignment is honoured or refused, never ignored.
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two
     * @return the address of at least {@code byteSize} bytes; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException if {@code byteSize} is negative, or so large that rounding it would overflow
     * @throws InvalidAlignmentException if {@code byteAlignment} is not a power of two, or more than this resource
     *     gives
     * @throws OutOfMemoryException if a limit or the device cannot satisfy the request; the only report of exhaustion
     * @throws DeviceException if the driver fails otherwise
     * @throws AllocatorClosedException if this resource is closed
     */
    long allocate(long byteSize, long byteAlignment);

    /**
     * Allocates memory with the alignment of {@link #memory}.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address, as {@link #allocate(long, long)}
     */
    default long allocate(long byteSize) {
        return allocate(byteSize, memory().byteAlignment());
    }

    /**
     * Gives memory back. All work that uses it must be complete, or, with a stream-bound {@linkplain #context context},
     * be queued on that stream.
     *
     * @param address what the allocation returned; {@code 0} does nothing
     * @param byteSize the size that was asked for
     * @param byteAlignment the alignment that was asked for
     * @throws InvalidFreeException if {@code address} is not the start of a live allocation, as far as this resource
     *     can tell; nothing changes then
     * @throws InvalidSizeException if {@code byteSize} is not what was asked for, as far as this resource can tell;
     *     nothing changes then
     * @throws DeviceException if the driver fails; the allocation is dead all the same
     * @throws AllocatorClosedException if this resource is closed
     */
    void deallocate(long address, long byteSize, long byteAlignment);

    /**
     * Gives back memory that was allocated with the alignment of {@link #memory}.
     *
     * @param address what {@link #allocate(long)} returned; {@code 0} does nothing
     * @param byteSize the size that was asked for
     */
    default void deallocate(long address, long byteSize) {
        deallocate(address, byteSize, memory().byteAlignment());
    }

    /**
     * Returns unused memory to the device, as far as this resource holds any. Live allocations are untouched.
     *
     * @return what went back and what stays; nothing of both unless a resource says otherwise
     * @throws DeviceException if the driver fails
     */
    default ShrinkReport shrink() {
        return new ShrinkReport(0, 0, 0, 0, 0);
    }

    /**
     * Whether the device itself decides when memory that was given back on one stream may go to another; see
     * {@link allocator.spi.StreamAwareAllocator#isOrderedByDevice}. Never blocks.
     *
     * @return whether any {@linkplain #upstreams upstream} does, unless a resource says otherwise
     */
    default boolean isOrderedByDevice() {
        for (final MemoryResource upstream : upstreams()) {
            if (upstream.isOrderedByDevice()) {
                return true;
            }
        }
        return false;
    }

    /**
     * What this resource draws from.
     *
     * @return its upstreams, the first choice first; empty for a resource that decorates none
     */
    default List<MemoryResource> upstreams() {
        return List.of();
    }

    /** Gives back what this resource itself holds, but never its upstream, which its own owner closes. */
    @Override
    default void close() {}
}
