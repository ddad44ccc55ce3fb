package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaMemory;
import allocator.resource.MemoryKind;
import allocator.resource.MemoryResource;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Memory that the driver allocates and frees block by block. Live sizes are recorded, at little cost next to the
 * microseconds of a driver call, and invalid deallocations are rejected before they reach the driver.
 */
abstract class DriverResource implements MemoryResource {
    private final CudaDriver driver;
    private final CudaMemory driverMemory;
    private final MemoryInfo memory;
    private final MemoryKind kind;
    private final ConcurrentMap<Long, Long> liveSizes = new ConcurrentHashMap<>();

    DriverResource(CudaDriver driver, MemoryInfo memory, MemoryKind kind) {
        this.driver = driver;
        this.driverMemory = driver.memory();
        this.memory = memory;
        this.kind = kind;
    }

    /** Allocates with one call of the driver. */
    abstract long allocate(CudaMemory from, int device, long byteSize);

    /** Frees with one call of the driver. */
    abstract void free(CudaMemory from, int device, long address);

    @Override
    public final MemoryInfo memory() {
        return memory;
    }

    @Override
    public final MemoryKind kind() {
        return kind;
    }

    @Override
    public final long allocate(long byteSize, long byteAlignment) {
        CudaCalls.requireValid(byteSize, byteAlignment);
        if (byteSize == 0) {
            return 0;
        }
        try {
            final long address = allocate(driverMemory, memory.deviceOrdinal(), byteSize);
            liveSizes.put(address, byteSize);
            return address;
        } catch (CudaException e) {
            throw CudaCalls.allocationFailure(driver, memory, byteSize, e);
        }
    }

    @Override
    public final void deallocate(long address, long byteSize, long byteAlignment) {
        if (address == 0) {
            return;
        }
        if (!liveSizes.remove(address, byteSize)) {
            final Long live = liveSizes.get(address);
            if (live == null) {
                throw new ForeignAddressException(address, "not a live block of " + this);
            }
            throw new InvalidSizeException(
                    byteSize, "is not the " + live + " allocated at 0x" + Long.toHexString(address));
        }
        try {
            free(driverMemory, memory.deviceOrdinal(), address);
        } catch (CudaException e) {
            throw CudaCalls.failure(e);
        }
    }

    @Override
    public String toString() {
        return memory.toString();
    }
}
