package allocator.resource;

import allocator.spi.SyncStream;
import org.jspecify.annotations.Nullable;

/** Deallocates memory whose stream may have ended: its work is then done, and no order is needed. */
final class EndedStreams {
    private EndedStreams() {}

    /**
     * Deallocates memory on a stream, or without one if the stream has ended, be it during this call.
     *
     * @param stream the stream, {@code null} for none
     * @throws IllegalStateException if the stream is closed and has not ended; the memory is live
     */
    static void deallocate(
            StreamOrderedMemoryResource resource,
            long address,
            long byteSize,
            long byteAlignment,
            @Nullable SyncStream stream) {
        if (stream == null || stream.hasEnded()) {
            resource.deallocate(address, byteSize, byteAlignment);
            return;
        }
        try {
            resource.deallocate(address, byteSize, byteAlignment, stream);
        } catch (IllegalStateException e) {
            if (!stream.hasEnded()) {
                throw e;
            }
            resource.deallocate(address, byteSize, byteAlignment);
        }
    }
}
