package allocator.cuda.resource;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaMemory;
import allocator.resource.MemoryKind;
import allocator.spi.MemoryType;

/**
 * Device memory from {@code cuMemAlloc}: the CUDA proposal's {@code cuda_resource}. A deallocation may wait for the
 * device.
 */
public final class CudaDeviceResource extends DriverResource {
    /**
     * Creates a resource without allocations.
     *
     * @param driver the driver
     * @param device the device's ordinal; its primary context must be retained
     */
    public CudaDeviceResource(CudaDriver driver, int device) {
        super(driver, CudaCalls.memory("Cuda", device, MemoryType.DEFAULT), MemoryKind.DEVICE);
    }

    @Override
    long allocate(CudaMemory from, int device, long byteSize) {
        return from.memAlloc(device, byteSize);
    }

    @Override
    void free(CudaMemory from, int device, long address) {
        from.memFree(device, address);
    }
}
