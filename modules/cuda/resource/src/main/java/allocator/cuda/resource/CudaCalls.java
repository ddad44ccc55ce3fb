package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaStreams;
import allocator.cuda.memory.CudaSyncStream;
import allocator.resource.Requests;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.StreamCaptureException;
import allocator.spi.SyncStream;

/** Checks and failures shared by all resources of a CUDA device. */
final class CudaCalls {
    /** The alignment of every allocation of the driver, in bytes. */
    static final long BYTE_ALIGNMENT = 256;

    private static final int NVIDIA = 0x10de;

    private CudaCalls() {}

    static MemoryInfo memory(String name, int device, MemoryType type) {
        return new MemoryInfo(
                name, new MemoryLocation(DeviceType.GPU, NVIDIA, device, type), BYTE_ALIGNMENT, AllocatorType.DEVICE);
    }

    static void requireValid(long byteSize, long byteAlignment) {
        Requests.requireValid(byteSize, byteAlignment);
        Requests.requireAtMost(byteAlignment, BYTE_ALIGNMENT, "the driver");
    }

    /** Rejects a deallocation with another size than that of the live block, if there is one. */
    static void requireSize(long live, long address, long byteSize) {
        if (live != -1 && live != byteSize) {
            throw new InvalidSizeException(
                    byteSize, "is not the " + live + " allocated at 0x" + Long.toHexString(address));
        }
    }

    /**
     * Returns the driver's stream, for a call of the driver. Never waits for a close that is under way: the stream's
     * work may wait for the calling thread.
     *
     * @throws IllegalStateException if the stream is closed: the driver may have destroyed its own
     */
    static long handle(SyncStream stream) {
        if (stream.hasEnded() || (stream instanceof CudaSyncStream own && own.isClosed())) {
            throw new IllegalStateException(stream + " is closed");
        }
        return stream.handle();
    }

    /**
     * Returns the driver's stream as {@link #handle} does, for a call that is impossible while the stream is being
     * captured: it would invalidate the capture, or take memory that the graph owns.
     *
     * @param call the name of the call
     * @throws IllegalStateException if the stream is closed
     * @throws StreamCaptureException if it is being captured
     * @throws DeviceException if the driver fails
     */
    static long handle(SyncStream stream, CudaStreams streams, int device, String call) {
        final long handle = handle(stream);
        try {
            if (streams.streamIsCapturing(device, handle)) {
                throw new StreamCaptureException(
                        ("%s, CUstream 0x%x of gpu:%d, is being captured into a graph, so there"
                                        + " is no %s; do it before the capture begins or after it has ended")
                                .formatted(stream, handle, device, call));
            }
            return handle;
        } catch (CudaException e) {
            throw failure(e);
        }
    }

    /**
     * Returns the driver's stream for a deallocation, as {@link #handle(SyncStream, CudaStreams, int, String)} does. If
     * the driver does not say whether the stream is being captured, the deallocation goes on: it takes effect whatever
     * the device says.
     */
    static long freeingHandle(SyncStream stream, CudaStreams streams, int device) {
        try {
            return handle(stream, streams, device, "deallocation");
        } catch (DeviceException e) {
            return handle(stream);
        }
    }

    static DeviceException failure(CudaException e) {
        return new DeviceException(String.valueOf(e.getMessage()), e);
    }

    /** Returns the exception for an allocation that failed: out of memory, or another failure of the driver. */
    static AllocatorException allocationFailure(CudaDriver driver, MemoryInfo memory, long byteSize, CudaException e) {
        if (!e.isOutOfMemory()) {
            return failure(e);
        }
        return new OutOfMemoryException(
                "The driver cannot allocate " + byteSize + " bytes",
                Shortage.ofDevice(memory, byteSize, freeBytes(driver, memory)),
                "",
                e);
    }

    private static long freeBytes(CudaDriver driver, MemoryInfo memory) {
        if (memory.memoryType() != MemoryType.DEFAULT) {
            return OutOfMemoryException.UNKNOWN; // host memory, of which the driver reports nothing
        }
        try {
            return driver.memory().memGetInfo(memory.deviceOrdinal()).freeByteSize();
        } catch (CudaException e) {
            return OutOfMemoryException.UNKNOWN;
        }
    }
}
