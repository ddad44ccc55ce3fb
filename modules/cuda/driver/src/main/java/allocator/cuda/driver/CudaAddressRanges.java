package allocator.cuda.driver;

/**
 * Address ranges apart from the memory behind them.
 *
 * <p>A range is reserved, physical memory is created, and mapped into the range; access must be granted before a device
 * may touch it. All sizes and addresses are multiples of {@link #memGetAllocationGranularity}. None of these calls is
 * ordered on a stream: before memory is unmapped, its users must be done.
 */
public interface CudaAddressRanges {
    /**
     * Returns the unit of physical memory.
     *
     * @param device device ordinal
     * @return bytes, a power of two
     * @throws CudaException {@code CUDA_ERROR_NOT_SUPPORTED} if the device has no virtual memory
     */
    long memGetAllocationGranularity(int device);

    /**
     * Reserves a range of addresses that nothing else will get. Takes no device memory.
     *
     * @param device device ordinal
     * @param byteSize size in bytes; may exceed the device's memory
     * @return first address
     * @throws CudaException {@code CUDA_ERROR_OUT_OF_MEMORY} if no range of that size is free
     */
    long memAddressReserve(int device, long byteSize);

    /**
     * Gives a range back; nothing may be mapped in it.
     *
     * @param device device ordinal
     * @param address what the reservation returned
     * @param byteSize what was reserved
     */
    void memAddressFree(int device, long address, long byteSize);

    /**
     * Creates physical memory, which has no address yet.
     *
     * @param device device ordinal
     * @param byteSize size in bytes
     * @return its handle
     * @throws CudaException {@code CUDA_ERROR_OUT_OF_MEMORY} if the device has not that much left
     */
    long memCreate(int device, long byteSize);

    /**
     * Drops a handle. The memory goes back to the device when it is also mapped nowhere.
     *
     * @param device device ordinal
     * @param handle the handle
     */
    void memRelease(int device, long handle);

    /**
     * Maps a whole piece of physical memory into a reserved range; the same piece may be mapped at several places.
     *
     * @param device device ordinal
     * @param address where in the range
     * @param byteSize what was created
     * @param handle the physical memory
     */
    void memMap(int device, long address, long byteSize, long handle);

    /**
     * Unmaps what was mapped at an address.
     *
     * @param device device ordinal
     * @param address where it was mapped
     * @param byteSize what was mapped; may span several mappings, but all of each
     */
    void memUnmap(int device, long address, long byteSize);

    /**
     * Says what a device may do with mapped memory.
     *
     * @param device device ordinal of the device that gets access
     * @param address first address
     * @param byteSize size in bytes, wholly mapped
     * @param access what it may do
     */
    void memSetAccess(int device, long address, long byteSize, MemoryAccess access);
}
