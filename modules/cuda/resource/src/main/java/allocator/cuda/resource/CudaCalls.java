package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.resource.InvalidAlignmentException;
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

/** What all resources of a CUDA device share. */
final class CudaCalls {
    /** What the driver aligns every allocation to. */
    static final long BYTE_ALIGNMENT = 256;

    private static final int NVIDIA = 0x10de;

    private CudaCalls() {}

    static MemoryInfo memory(String name, int device, MemoryType type) {
        return new MemoryInfo(
                name, new MemoryLocation(DeviceType.GPU, NVIDIA, device, type), BYTE_ALIGNMENT, AllocatorType.DEVICE);
    }

    static void requireValid(long byteSize, long byteAlignment) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteAlignment <= 0 || (byteAlignment & (byteAlignment - 1)) != 0) {
            throw new InvalidAlignmentException(byteAlignment, "is not a power of two");
        }
        if (byteAlignment > BYTE_ALIGNMENT) {
            throw new InvalidAlignmentException(
                    byteAlignment, "is more than the " + BYTE_ALIGNMENT + " that the driver gives");
        }
    }

    static DeviceException failure(CudaException e) {
        return new DeviceException(String.valueOf(e.getMessage()), e);
    }

    /** Exhaustion, or another failure of an allocation. */
    static AllocatorException refusal(CudaDriver driver, MemoryInfo memory, long byteSize, CudaException e) {
        if (!e.isOutOfMemory()) {
            return failure(e);
        }
        return new OutOfMemoryException(
                "The driver has no " + byteSize + " bytes",
                Shortage.ofDevice(memory, byteSize, freeBytes(driver, memory)),
                "",
                e);
    }

    private static long freeBytes(CudaDriver driver, MemoryInfo memory) {
        if (memory.memoryType() != MemoryType.DEFAULT) {
            return OutOfMemoryException.UNKNOWN; // the host's, which the driver does not tell
        }
        try {
            return driver.memory().memGetInfo(memory.deviceOrdinal()).freeByteSize();
        } catch (CudaException e) {
            return OutOfMemoryException.UNKNOWN;
        }
    }
}
