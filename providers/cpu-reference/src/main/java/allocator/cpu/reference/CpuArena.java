package allocator.cpu.reference;

import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/**
 * An arena over a {@link HostAllocator}: few large blocks from the system, handed out in pieces. It is told what
 * happens to streams.
 */
sealed interface CpuArena extends CpuAllocator, StreamAwareAllocator permits CpuBfcArena, CpuBumpArena {
    /** Lets every stream use what was freed on one, whose work is done. */
    void endRun(SyncStream stream);

    /** Ends the tie between memory and a stream that is closed. */
    void releaseStream(SyncStream stream);

    /** Refuses a closed stream. */
    static void requireOpen(SyncStream stream) {
        if (isClosed(stream)) {
            throw new IllegalStateException(stream + " is closed");
        }
    }

    /** Refuses a stream that was closed meanwhile, and perhaps released before {@code address} was tied to it. */
    default void requireStillOpen(SyncStream stream, long address) {
        if (isClosed(stream)) {
            free(address);
            releaseStream(stream);
            requireOpen(stream);
        }
    }

    private static boolean isClosed(SyncStream stream) {
        return stream instanceof CpuStream cpuStream && cpuStream.isClosed();
    }
}
