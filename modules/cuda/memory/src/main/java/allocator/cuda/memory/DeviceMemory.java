package allocator.cuda.memory;

import allocator.spi.MemoryInfo;

/** Device memory, each block from {@code cuMemAlloc}. */
public final class DeviceMemory extends DirectMemory {
    /**
     * Creates the allocator; takes no memory yet.
     *
     * @param device the device, with a context
     * @param info the memory to serve: the device's default or read-only memory
     */
    public DeviceMemory(CudaDevice device, MemoryInfo info) {
        super(device, info);
    }

    @Override
    long take(long byteSize) {
        return device().driver().memory().memAlloc(device().ordinal(), byteSize);
    }

    @Override
    void giveBack(long address) {
        device().driver().memory().memFree(device().ordinal(), address);
    }
}
