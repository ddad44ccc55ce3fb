package allocator.cuda.driver;

/**
 * Virtual memory management: address ranges, and physical memory that is mapped into them.
 *
 * <p>The caller reserves a range, creates physical memory, maps it into the range, and grants a device access to it.
 * All sizes and addresses are multiples of {@link #memGetAllocationGranularity}. None of these calls is ordered on a
 * stream: all work on the memory must be done before it is unmapped.
 */
public interface CudaAddressRanges {
    /**
     * {@return the granularity of physical memory in bytes, a power of two}
     *
     * @param device device ordinal
     * @throws CudaException {@code CUDA_ERROR_NOT_SUPPORTED} if the device has no virtual memory
     */
    long memGetAllocationGranularity(int device);

    /**
     * Reserves a range of addresses. Takes no device memory.
     *
     * @param device device ordinal
     * @param byteSize size in bytes; may exceed the device's memory
     * @return first address
     * @throws CudaException {@code CUDA_ERROR_OUT_OF_MEMORY} if no range of that size is free
     */
    long memAddressReserve(int device, long byteSize);

    /**
     * Frees a range, in which nothing may be mapped.
     *
     * @param device device ordinal
     * @param address the address that the reservation returned
     * @param byteSize the size that was reserved
     */
    void memAddressFree(int device, long address, long byteSize);

    /**
     * Creates physical memory, which has no address until it is mapped.
     *
     * @param device device ordinal
     * @param byteSize size in bytes
     * @return its handle
     * @throws CudaException {@code CUDA_ERROR_OUT_OF_MEMORY} if the device has not enough free memory
     */
    long memCreate(int device, long byteSize);

    /**
     * Releases a handle. The memory returns to the device once it is not mapped anywhere either.
     *
     * @param device device ordinal
     * @param handle the handle
     */
    void memRelease(int device, long handle);

    /**
     * Maps physical memory, all of it, into a reserved range. The same memory may be mapped at several addresses.
     *
     * @param device device ordinal
     * @param address the first address, within a reserved range
     * @param byteSize the size that was created
     * @param handle the physical memory
     */
    void memMap(int device, long address, long byteSize, long handle);

    /**
     * Unmaps memory.
     *
     * @param device device ordinal
     * @param address the address at which it is mapped
     * @param byteSize size in bytes; may span several mappings, but each as a whole
     */
    void memUnmap(int device, long address, long byteSize);

    /**
     * Sets the access that a device has to mapped memory.
     *
     * @param device device ordinal of the device that gets access
     * @param address first address
     * @param byteSize size in bytes, wholly mapped
     * @param access the access
     */
    void memSetAccess(int device, long address, long byteSize, MemoryAccess access);
}
