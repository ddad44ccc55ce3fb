package allocator.resource;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import java.util.List;
import java.util.Optional;

/**
 * A source of memory of one kind on one device.
 *
 * <p>Unlike an {@link allocator.spi.Allocator}, it takes size and alignment at deallocation too, so decorators such as
 * budgets need not store them. Thread-safe; any thread may deallocate what another allocated. Calls may block on the
 * driver.
 *
 * <p>Memory must be deallocated through the resource that allocated it. A decorator and its upstream are two different
 * resources.
 */
public interface MemoryResource extends AutoCloseable {
    /** {@return the memory's location, its name in messages, and its default alignment; the same info on every call} */
    MemoryInfo memory();

    /** {@return whether host and device can access the memory, the same kind on every call} */
    MemoryKind kind();

    /** {@return where newly allocated memory may be used unsynchronized; {@link MemoryContext#ANY} by default} */
    default MemoryContext context() {
        return MemoryContext.ANY;
    }

    /**
     * Allocates memory that may be used in this resource's {@linkplain #context context} as soon as this method
     * returns. The caller owns it until deallocation. The bytes are not initialized.
     *
     * @implSpec Live allocations never overlap. An alignment is honoured or rejected, never ignored.
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two
     * @return the address of at least {@code byteSize} bytes; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException if {@code byteSize} is negative, or so large that rounding it would overflow
     * @throws InvalidAlignmentException if {@code byteAlignment} is not a power of two, or exceeds what this resource
     *     supports
     * @throws OutOfMemoryException if a limit or the device cannot satisfy the request; this is the only report of
     *     exhaustion
     * @throws DeviceException if the driver fails otherwise
     * @throws AllocatorClosedException if this resource is closed
     */
    long allocate(long byteSize, long byteAlignment);

    /**
     * Allocates memory with the default alignment, that of {@link #memory}.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address, {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@link #allocate(long, long)}
     */
    default long allocate(long byteSize) {
        return allocate(byteSize, memory().byteAlignment());
    }

    /**
     * Allocates memory that lives as long as a session, such as initializers, without affecting how an arena below
     * grows; see {@link allocator.spi.Allocator#reserve}. It is deallocated as any other.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two
     * @return the address; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @implSpec The default implementation is {@link #allocate(long, long)}.
     * @throws allocator.spi.AllocatorException as {@link #allocate(long, long)}
     */
    default long reserve(long byteSize, long byteAlignment) {
        return allocate(byteSize, byteAlignment);
    }

    /**
     * Deallocates memory. All work that uses it must be complete or, if the {@linkplain #context context} is bound to a
     * stream, queued on that stream.
     *
     * <p>The deallocation of a live allocation takes effect, whatever the device says. Memory that the device does not
     * take back stays with the resource or allocator that talks to the device: it counts as held there, and is offered
     * again. If this method throws, nothing has changed and the allocation is still live.
     *
     * @param address the address of the allocation; {@code 0} does nothing
     * @param byteSize the requested size in bytes
     * @param byteAlignment the requested alignment in bytes
     * @throws InvalidFreeException if {@code address} is not the start of a live allocation and this resource checks
     *     addresses; nothing changes
     * @throws InvalidSizeException if {@code byteSize} is not the requested size and this resource checks sizes;
     *     nothing changes
     * @throws InvalidAlignmentException if {@code byteAlignment} is not the requested alignment and this resource
     *     checks alignments; nothing changes
     * @throws AllocatorClosedException if this resource is closed
     */
    void deallocate(long address, long byteSize, long byteAlignment);

    /**
     * Deallocates memory that was allocated with the default alignment.
     *
     * @param address what {@link #allocate(long)} returned; {@code 0} does nothing
     * @param byteSize the requested size in bytes
     * @throws allocator.spi.AllocatorException as {@link #deallocate(long, long, long)}
     */
    default void deallocate(long address, long byteSize) {
        deallocate(address, byteSize, memory().byteAlignment());
    }

    /**
     * Returns unused memory that this resource holds to the device. Live allocations are untouched.
     *
     * @return bytes and regions released and still held; all zero for a resource that holds none
     * @throws DeviceException if the driver fails
     */
    default ShrinkReport shrink() {
        return new ShrinkReport(0, 0, 0, 0, 0);
    }

    /**
     * {@return whether the device decides when memory freed on one stream may be reused on another, by default whether
     * this holds for any {@linkplain #upstreams upstream}; see
     * {@link allocator.spi.StreamAwareAllocator#isOrderedByDevice}} Never blocks.
     */
    default boolean isOrderedByDevice() {
        for (final MemoryResource upstream : upstreams()) {
            if (upstream.isOrderedByDevice()) {
                return true;
            }
        }
        return false;
    }

    /** {@return the resources from which this one allocates, the first choice first; empty for a source of memory} */
    default List<MemoryResource> upstreams() {
        return List.of();
    }

    /**
     * {@return the counters of the memory below, at one moment: those of the allocator at the bottom; empty if that
     * does not count} If others use that allocator too, they are included.
     */
    default Optional<AllocatorStats> stats() {
        final List<MemoryResource> upstreams = upstreams();
        return upstreams.size() == 1 ? upstreams.getFirst().stats() : Optional.empty();
    }

    /**
     * {@return the effective settings of the allocator at the bottom, by default those of the first
     * {@linkplain #upstreams upstream}, empty for a source of memory; see
     * {@link allocator.spi.Allocator#effectiveOptions}}
     */
    default AllocatorOptions effectiveOptions() {
        final List<MemoryResource> upstreams = upstreams();
        return upstreams.isEmpty()
                ? AllocatorOptions.EMPTY
                : upstreams.getFirst().effectiveOptions();
    }

    /** Releases what this resource itself holds. Never closes an upstream: its owner does. */
    @Override
    default void close() {}
}
