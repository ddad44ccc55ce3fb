package allocator.cuda.arena;

import allocator.cuda.memory.CudaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaSyncStream;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/** Device memory that an arena binds to streams. */
sealed interface StreamMemory extends CudaAllocator, StreamAwareAllocator permits DeviceArena, DeviceBumpArena {
    /** Rejects a stream that is closed, or another device's; any other knows from here on that this arena uses it. */
    default CudaSyncStream use(SyncStream stream, CudaDevice device) {
        if (!(stream instanceof CudaSyncStream cudaStream)
                || cudaStream.device().ordinal() != device.ordinal()) {
            throw new IllegalArgumentException(stream + " is not a stream of " + device);
        }
        requireOpen(cudaStream);
        cudaStream.usedBy(this);
        return cudaStream;
    }

    /**
     * Takes back what was bound to a stream during its close, and rejects the stream. The end of the stream unbinds the
     * memory, unless the stream has ended already. Waits for neither: work of the stream may wait for this thread.
     */
    default long requireStillOpen(CudaSyncStream stream, long address) {
        if (stream.isClosed()) {
            free(address);
            if (stream.hasEnded()) {
                releaseStream(stream);
            }
            requireOpen(stream);
        }
        return address;
    }

    private static void requireOpen(CudaSyncStream stream) {
        if (stream.isClosed()) {
            throw new IllegalStateException(stream + " is closed");
        }
    }
}
