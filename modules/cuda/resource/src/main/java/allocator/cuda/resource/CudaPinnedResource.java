package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaMemory;
import allocator.resource.MemoryKind;
import allocator.spi.MemoryType;

/** Page-locked host memory of {@code cuMemHostAlloc}, for all devices: the CUDA proposal's {@code pinned_resource}. */
public final class CudaPinnedResource extends DriverResource {
    /**
     * Creates a resource without allocations.
     *
     * @param driver the driver
     * @param device the device's ordinal; its primary context must be retained
     */
    public CudaPinnedResource(CudaDriver driver, int device) {
        super(driver, CudaCalls.memory("CudaPinned", device, MemoryType.HOST_ACCESSIBLE), MemoryKind.PINNED);
    }

    @Override
    long allocate(CudaMemory from, int device, long byteSize) {
        return from.memHostAlloc(device, byteSize, true);
    }

    @Override
    void free(CudaMemory from, int device, long address) {
        from.memFreeHost(device, address);
    }
}
