package allocator.spi;

import java.util.Optional;

/**
 * Allocates memory of one kind on one device: Java's counterpart of ONNX Runtime's {@code OrtAllocator}.
 *
 * <p>An allocator declares optional operations by its type: {@link StreamAwareAllocator}, {@link ShrinkableAllocator},
 * {@link HostAccessibleAllocator}.
 *
 * <p>Safe for use by any thread; a block may be freed by another thread than the one that allocated it. Calls
 * may block on the allocator's locks and, when memory is taken from or returned to the device, on the driver.
 *
 * <p>After any exception every live block is still valid and the allocator still works.
 *
 * <p>After its last release each use throws {@link AllocatorClosedException}. {@link #info}, {@link #spiLevel} and
 * {@link #effectiveOptions} are no uses and return what they returned before; {@code toString}, {@code equals} and
 * {@code hashCode} throw at no time (L-02).
 */
public interface Allocator {
    /**
     * Allocates memory.
     *
     * <p>The bytes are not initialized. The block belongs to the caller until it is freed or the allocator is released.
     * On a device with streams the block may be used by work on any stream; that work must be complete before the block
     * is freed (T-06).
     *
     * @implSpec Live blocks never overlap, and each starts at a multiple of the
     *     {@linkplain MemoryInfo#byteAlignment alignment} of {@link #info}.
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address of at least {@code byteSize} bytes; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException if {@code byteSize} is negative, or so large that rounding it would overflow; a
     *     header of each block counts as rounding
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request; the only report of exhaustion
     *     (A-05)
     * @throws DeviceException if the driver fails otherwise
     * @throws AllocatorClosedException if this allocator is closed
     */
    long alloc(long byteSize);

    /**
     * Ends the life of a block of this allocator: of {@link #alloc}, {@link #reserve} or
     * {@link StreamAwareAllocator#allocOnStream}. The allocator decides whether to return the memory to the device or
     * to hold it for further allocations; see {@link ShrinkableAllocator#shrink}.
     *
     * <p>A free of a live block takes effect, whatever the device says: it never throws {@link DeviceException}.
     * Memory that the device refuses to take back counts as held, is not handed out, and is offered again: at a shrink,
     * at the last release, and once before a request fails.
     *
     * @param address the address that the allocation returned; {@code 0} does nothing
     * @throws InvalidFreeException if {@code address} is not the start of a live block of this allocator: a
     *     {@link ForeignAddressException}, {@link InteriorAddressException} or {@link DoubleFreeException}, as far as
     *     the allocator can distinguish them; nothing changes
     * @throws AllocatorClosedException if this allocator is closed
     */
    void free(long address);

    /**
     * {@return the memory that this allocator serves, the same info on every call; its allocator type is never
     * {@link AllocatorType#ARENA} (F-06)}
     */
    MemoryInfo info();

    /**
     * {@return the level of this contract for which the allocator was written: the value that {@link SpiLevel#CURRENT}
     * had then, as a constant of the implementation; the same on every call, at least {@link SpiLevel#MINIMUM}}
     */
    int spiLevel();

    /**
     * Allocates memory that lives as long as a session, such as initializers, without affecting the growth of an arena.
     * From {@link SpiLevel#RESERVE} on.
     *
     * @implSpec An arena takes exactly {@code byteSize} bytes from its device, outside its regions, within the same
     *     limit. The default implementation is {@link #alloc}.
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address, to be freed with {@link #free}; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException as {@link #alloc}
     * @throws OutOfMemoryException as {@link #alloc}
     * @throws DeviceException as {@link #alloc}
     * @throws AllocatorClosedException as {@link #alloc}
     */
    default long reserve(long byteSize) {
        return alloc(byteSize);
    }

    /**
     * {@return the allocator's counters at one moment} From {@link SpiLevel#STATISTICS} on.
     *
     * @implSpec The counters are consistent with one another and with the calls that returned before this one began
     *     (S-01). The default implementation returns {@link AllocatorStats#NONE}.
     * @throws AllocatorClosedException if this allocator is closed
     */
    default AllocatorStats stats() {
        return AllocatorStats.NONE;
    }

    /**
     * {@return the effective settings: a value for every key of {@link EpFactory#optionKeys} that applies to this
     * allocator, after rounding, with its origin; empty unless overridden} They differ from the requested settings
     * where a shared instance existed already (O-05).
     */
    default AllocatorOptions effectiveOptions() {
        return AllocatorOptions.EMPTY;
    }

    /**
     * {@return a capability of this allocator: an optional interface, of this package or another one; empty if this
     * allocator does not have it; the same on every call} A wrapper returns its own where it counts, checks or charges,
     * and otherwise that of the allocator that it wraps. Ask once, not for each call.
     *
     * @param capability the interface
     * @param <T> its type
     */
    default <T> Optional<T> as(Class<T> capability) {
        return capability.isInstance(this) ? Optional.of(capability.cast(this)) : Optional.empty();
    }
}
