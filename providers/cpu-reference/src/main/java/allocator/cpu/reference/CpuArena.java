package allocator.cpu.reference;

import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/** An arena over a {@link HostAllocator}. The factory reports ended runs and closed streams to it. */
sealed interface CpuArena extends CpuAllocator, StreamAwareAllocator
        permits CpuBfcArena, CpuBumpArena, CpuPlannedArena {
    /** Makes memory freed on a stream available to all streams. The stream's work is done. */
    void endRun(SyncStream stream);

    /** Unbinds memory from a closed stream. */
    void releaseStream(SyncStream stream);

    /** Rejects a closed stream; an open one of this provider knows from here on that this arena uses it. */
    default void use(SyncStream stream) {
        if (stream instanceof CpuStream cpuStream) {
            if (cpuStream.isClosed()) {
                throw closed(stream);
            }
            cpuStream.usedBy(this);
        }
    }

    private static IllegalStateException closed(SyncStream stream) {
        return new IllegalStateException(stream + " is closed");
    }

    /** Rejects a stream that was closed during the allocation, and perhaps released before memory was bound to it. */
    default long requireStillOpen(SyncStream stream, long address) {
        if (stream instanceof CpuStream cpuStream && cpuStream.isClosed()) {
            free(address);
            releaseStream(stream);
            throw closed(stream);
        }
        return address;
    }
}
