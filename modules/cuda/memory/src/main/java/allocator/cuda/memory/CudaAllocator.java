package allocator.cuda.memory;

import allocator.spi.InspectableAllocator;
import allocator.spi.SyncStream;

/** An allocator that a {@link CudaEpFactory} creates and takes back. */
public interface CudaAllocator extends InspectableAllocator {
    /**
     * Makes memory freed on a stream available to all streams; the stream's work so far is done. Called for streams
     * that this allocator has {@linkplain CudaSyncStream#usedBy used}. Does nothing unless overridden.
     *
     * @param stream the stream, synchronized
     * @throws allocator.spi.AllocatorClosedException if this allocator is closed
     */
    default void endRun(SyncStream stream) {}

    /**
     * Unbinds all memory from a stream whose work has ended: any stream may use what was freed on it, and what is freed
     * later. Called for streams that this allocator has {@linkplain CudaSyncStream#usedBy used}. Does nothing unless
     * overridden.
     *
     * @param stream the stream, closed
     * @throws allocator.spi.AllocatorClosedException if this allocator is closed
     */
    default void releaseStream(SyncStream stream) {}

    /**
     * {@return whether the end of this allocator has begun, so that a stream which it has
     * {@linkplain CudaSyncStream#usedBy used} need not report to it any more; {@code false} unless overridden}
     */
    default boolean isClosed() {
        return false;
    }

    /**
     * Returns all memory to the device, live blocks included, once the device has done its work, and closes this
     * allocator. A second call tries again to return what the driver did not take back, and does nothing if that is
     * nothing.
     *
     * @throws allocator.spi.DeviceException if the driver failed to take memory back; the allocator is closed all the
     *     same, and the factory tries again when it is closed
     */
    void destroy();
}
