package allocator.resource;

import allocator.spi.SyncStream;

/**
 * A resource that allocates and deallocates in the order of a stream, so memory can be deallocated while queued work
 * still uses it.
 */
public interface StreamOrderedMemoryResource extends MemoryResource {
    /**
     * Allocates memory, ordered on a stream. Work submitted to {@code stream} after this method returns may use it.
     * Work on another stream must first wait for a later point of {@code stream}.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two
     * @param stream a stream of the same device
     * @return the address; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}
     * @throws IllegalArgumentException if {@code stream} is one of another device than {@link #memory} (F-10); the
     *     device is not asked
     * @throws IllegalStateException if {@code stream} is closed
     */
    long allocate(long byteSize, long byteAlignment, SyncStream stream);

    /**
     * Allocates memory with the default alignment, that of {@link #memory}, ordered on a stream.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param stream a stream of the same device
     * @return the address; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@link #allocate(long, long, SyncStream)}
     * @throws IllegalArgumentException as {@link #allocate(long, long, SyncStream)}
     * @throws IllegalStateException if {@code stream} is closed
     */
    default long allocate(long byteSize, SyncStream stream) {
        return allocate(byteSize, memory().byteAlignment(), stream);
    }

    /**
     * Deallocates memory, ordered on a stream, which need not be the stream of the allocation. Work that uses the
     * memory may still be queued on {@code stream}; work on other streams must be ordered before this point of
     * {@code stream}.
     *
     * @param address the address of an allocation made with or without a stream; {@code 0} does nothing
     * @param byteSize the requested size in bytes
     * @param byteAlignment the requested alignment in bytes
     * @param stream a stream of the same device
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}
     * @throws IllegalArgumentException if {@code stream} is one of another device than {@link #memory} (F-10); the
     *     memory is live
     * @throws allocator.spi.DeviceException if this resource has to wait for a stream and the device fails to: work may
     *     use the memory, so nothing has changed
     * @throws IllegalStateException if {@code stream} is closed, unless this resource only waits for streams and the
     *     stream {@linkplain SyncStream#hasEnded has ended}; the memory is live, and once the stream has ended it can
     *     be deallocated without one
     */
    void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream);

    /**
     * Deallocates memory that was allocated with the default alignment, ordered on a stream.
     *
     * @param address the address of an allocation with the default alignment; {@code 0} does nothing
     * @param byteSize the requested size in bytes
     * @param stream a stream of the same device
     * @throws allocator.spi.AllocatorException as {@link #deallocate(long, long, long, SyncStream)}
     * @throws IllegalArgumentException as {@link #deallocate(long, long, long, SyncStream)}
     * @throws IllegalStateException as {@link #deallocate(long, long, long, SyncStream)}
     */
    default void deallocate(long address, long byteSize, SyncStream stream) {
        deallocate(address, byteSize, memory().byteAlignment(), stream);
    }

    /**
     * Adapts any resource to a stream-ordered one. For a resource that is not, an allocation may be used at once on any
     * stream, and a deallocation blocks until the stream has completed its work.
     *
     * @param resource the resource
     * @return {@code resource} itself if it is stream-ordered, otherwise an adapter
     */
    static StreamOrderedMemoryResource of(MemoryResource resource) {
        return resource instanceof StreamOrderedMemoryResource ordered ? ordered : new SynchronizingResource(resource);
    }
}
