package allocator.spi;

/**
 * An allocator that orders its memory on streams, so that memory can be freed and used again while the device still
 * works. From {@link SpiLevel#STREAMS} on.
 */
public interface StreamAwareAllocator extends Allocator {
    /**
     * Allocates memory, ordered on {@code stream}.
     *
     * <p>Work submitted to {@code stream} after this call returns may use the memory; work on another stream must first
     * wait for a notification of {@code stream} that was activated after this call returned. The bytes are not
     * initialized. The memory may be freed while work on {@code stream} that uses it is still queued (T-01); uses on
     * other streams must be ordered before work on {@code stream} by then (T-02).
     *
     * <p>Never waits for {@code stream} to drain, except where a provider says that it does so once before it reports
     * exhaustion.
     *
     * @implSpec Freed memory goes to another stream only if that stream has waited for an event of the first one that
     *     was recorded after the memory was <em>freed</em> (T-03), or after the first stream was synchronized at run
     *     end (T-04). A closed stream's memory is never lost (T-05).
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param stream the stream, of the same device
     * @return the address; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException as {@link #alloc}
     * @throws OutOfMemoryException as {@link #alloc}
     * @throws DeviceException as {@link #alloc}
     * @throws IllegalArgumentException if {@code stream} belongs to another device
     * @throws IllegalStateException if {@code stream} is closed
     * @throws AllocatorClosedException as {@link #alloc}
     */
    long allocOnStream(long byteSize, SyncStream stream);

    /**
     * Whether the device itself decides when freed memory may go to another stream, as a memory pool of a driver does.
     * It may then go as soon as the device knows that the work is done, or orders the next user behind it, although
     * nobody waited for an event (T-03); and it may lie for a while where the device has not looked yet. Never blocks.
     *
     * @implSpec Always the same answer. An allocator that draws from another passes on what that one says, unless it
     *     orders the memory itself.
     * @return {@code false} unless overridden
     */
    default boolean isOrderedByDevice() {
        return false;
    }
}
