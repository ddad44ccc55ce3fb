package allocator.resource;

import allocator.spi.SyncStream;

/**
 * A source of memory that is allocated and deallocated in the order of a stream, so that memory can be given back while
 * the device still uses it.
 */
public interface StreamOrderedMemoryResource extends MemoryResource {
    /**
     * Allocates memory, ordered on a stream. Work submitted to {@code stream} after this method returns may use it;
     * work elsewhere must first wait for a point of {@code stream} after that.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param byteAlignment alignment in bytes, a power of two
     * @param stream the stream, of the same device
     * @return the address; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#allocate(long, long)}
     * @throws IllegalStateException if {@code stream} is closed
     */
    long allocate(long byteSize, long byteAlignment, SyncStream stream);

    /**
     * Gives memory back, ordered on a stream. Work that uses it may still be queued on {@code stream}; work on other
     * streams must be ordered before this point of {@code stream}, which need not be the stream of the allocation.
     *
     * @param address what an allocation of either form returned; {@code 0} does nothing
     * @param byteSize the size that was asked for
     * @param byteAlignment the alignment that was asked for
     * @param stream the stream, of the same device
     * @throws allocator.spi.AllocatorException as {@link MemoryResource#deallocate(long, long, long)}
     * @throws IllegalStateException if {@code stream} is closed
     */
    void deallocate(long address, long byteSize, long byteAlignment, SyncStream stream);

    /**
     * Sees any resource as a stream-ordered one. Where it is not, an allocation may be used at once on any stream, and
     * a deallocation first waits until the stream has done its work, and blocks for that time.
     *
     * @param resource the resource
     * @return {@code resource} itself if it is stream-ordered
     */
    static StreamOrderedMemoryResource of(MemoryResource resource) {
        return resource instanceof StreamOrderedMemoryResource ordered ? ordered : new SynchronizingResource(resource);
    }
}
