package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaMemory;
import allocator.resource.MemoryKind;
import allocator.spi.MemoryType;

/**
 * Managed memory from {@code cuMemAllocManaged}: the CUDA proposal's {@code unified_resource}. Its size may exceed the
 * device's memory.
 */
public final class CudaUnifiedResource extends DriverResource {
    /**
     * Creates a resource without allocations.
     *
     * @param driver the driver
     * @param device the device's ordinal; its primary context must be retained
     */
    public CudaUnifiedResource(CudaDriver driver, int device) {
        super(driver, CudaCalls.memory("CudaUnified", device, MemoryType.HOST_ACCESSIBLE), MemoryKind.UNIFIED);
    }

    @Override
    long allocate(CudaMemory from, int device, long byteSize) {
        return from.memAllocManaged(device, byteSize);
    }

    @Override
    void free(CudaMemory from, int device, long address) {
        from.memFree(device, address);
    }
}
