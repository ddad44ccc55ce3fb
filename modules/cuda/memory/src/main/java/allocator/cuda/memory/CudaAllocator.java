package allocator.cuda.memory;

import allocator.spi.Allocator;
import allocator.spi.SyncStream;

/** What a {@link CudaEpFactory} gives out and takes back. */
public interface CudaAllocator extends Allocator {
    /**
     * Lets every stream use what was freed on one, whose work is done so far. Does nothing unless overridden.
     *
     * @param stream the stream, synchronized
     * @throws allocator.spi.AllocatorClosedException if this allocator is closed
     */
    default void endRun(SyncStream stream) {}

    /**
     * Ends every tie to a stream, whose work is done for ever: any stream may use what it freed and what is freed of it
     * later. Does nothing unless overridden.
     *
     * @param stream the stream, closed
     * @throws allocator.spi.AllocatorClosedException if this allocator is closed
     */
    default void releaseStream(SyncStream stream) {}

    /**
     * Returns all memory to the device, live allocations included, once the device has done its work. A second call
     * does nothing.
     *
     * @throws allocator.spi.DeviceException if the driver failed to take memory back; the allocator is closed all the
     *     same
     */
    void destroy();
}
