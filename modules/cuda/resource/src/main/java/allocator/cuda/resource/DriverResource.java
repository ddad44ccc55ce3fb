package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaMemory;
import allocator.provider.support.BlockLedger;
import allocator.resource.MemoryKind;
import allocator.resource.MemoryResource;
import allocator.spi.MemoryInfo;

/**
 * Memory that the driver allocates and frees block by block. Live sizes are recorded, at little cost next to the
 * microseconds of a driver call, and invalid deallocations are rejected before they reach the driver. Memory that the
 * driver does not take back stays in the ledger, and is offered again before a request fails.
 */
abstract class DriverResource implements MemoryResource {
    private final CudaDriver driver;
    private final CudaMemory driverMemory;
    private final MemoryInfo memory;
    private final MemoryKind kind;
    private final BlockLedger<Void> ledger;

    DriverResource(CudaDriver driver, MemoryInfo memory, MemoryKind kind) {
        this.driver = driver;
        this.driverMemory = driver.memory();
        this.memory = memory;
        this.kind = kind;
        ledger = BlockLedger.of(memory, this::giveBack);
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
            return ledger.allocate(byteSize, this::take);
        } catch (CudaException e) {
            throw CudaCalls.allocationFailure(driver, memory, byteSize, e);
        }
    }

    private long take(long byteSize) {
        return allocate(driverMemory, memory.deviceOrdinal(), byteSize);
    }

    @Override
    public final void deallocate(long address, long byteSize, long byteAlignment) {
        if (address == 0) {
            return;
        }
        CudaCalls.requireSize(ledger.sizeOfLive(address), address, byteSize);
        ledger.free(address);
    }

    private void giveBack(long address, long byteSize) {
        free(driverMemory, memory.deviceOrdinal(), address);
    }

    @Override
    public String toString() {
        return memory.toString();
    }
}
