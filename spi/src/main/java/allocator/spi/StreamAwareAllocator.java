package allocator.spi;

/**
 * An allocator that orders its memory on streams, so that a block can be freed and its memory reused while the device
 * still uses it. From {@link SpiLevel#STREAMS} on.
 */
public interface StreamAwareAllocator extends Allocator {
    /**
     * Allocates memory, ordered on {@code stream}.
     *
     * <p>Work submitted to {@code stream} after this call returns may use the memory; work on another stream must first
     * wait for a notification of {@code stream} that was activated after this call returned. The bytes are not
     * initialized. The block may be freed while work on {@code stream} that uses it is still queued (T-01); before
     * that, uses on other streams must be ordered before later work on {@code stream} (T-02).
     *
     * <p>Never waits for {@code stream} to drain, unless the provider documents that it does so once before it reports
     * exhaustion.
     *
     * @implSpec Freed memory is reused by another stream only if that stream has waited for an event of the first one
     *     that was recorded after the memory was <em>freed</em> (T-03), or after the first stream was synchronized at
     *     run end (T-04). Memory that went back to the device, as {@code bytesHeld} shows, is no freed memory any more
     *     (T-03). A closed stream's memory is never lost (T-05).
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param stream the stream, created for this memory or another one of the same {@link EpDevice}
     * @return the address; {@code 0} if and only if {@code byteSize} is {@code 0}
     * @throws InvalidSizeException as {@link #alloc}
     * @throws OutOfMemoryException as {@link #alloc}
     * @throws DeviceException as {@link #alloc}
     * @throws IllegalArgumentException if {@code stream} belongs to another device (F-10)
     * @throws IllegalStateException if {@code stream} is closed
     * @throws StreamCaptureException if {@code stream} is being captured into a graph and the allocator cannot serve it
     *     then (T-10)
     * @throws AllocatorClosedException as {@link #alloc}
     */
    long allocOnStream(long byteSize, SyncStream stream);

    /**
     * {@return whether the device itself decides when freed memory may be reused by another stream, as a driver's
     * memory pool does; {@code false} unless overridden} The memory may then be reused as soon as the device knows that
     * the work is done, or has ordered the next user after it, without a wait for an event (T-03); it may also stay
     * unused until the device has checked. Never blocks.
     *
     * @implSpec Returns the same value on every call. An allocator with an upstream returns the upstream's value,
     *     unless it orders the memory itself.
     */
    default boolean isOrderedByDevice() {
        return false;
    }
}
