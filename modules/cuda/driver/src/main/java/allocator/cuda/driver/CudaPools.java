package allocator.cuda.driver;

/**
 * Stream-ordered allocation from the driver's memory pools.
 *
 * <p>Memory from a pool may be used by work that its stream does after the allocation, and by work elsewhere that is
 * ordered after that. A free takes effect when its stream comes to it. Between them the pool may hand freed memory out
 * again without giving it back to the device; how much it keeps over the next synchronization is its
 * {@link PoolAttribute#RELEASE_THRESHOLD}, which is {@code 0} in a new pool.
 */
public interface CudaPools {
    /**
     * Creates a pool of device memory.
     *
     * @param device device ordinal
     * @return the pool
     * @throws CudaException {@code CUDA_ERROR_NOT_SUPPORTED} if the device has no memory pools
     */
    long memPoolCreate(int device);

    /**
     * Destroys a pool. Memory that is still allocated from it stays valid and goes back to the device when it is freed.
     *
     * @param device device ordinal
     * @param pool the pool
     */
    void memPoolDestroy(int device, long pool);

    /**
     * Returns the pool that a device has from the start and shares with everyone in the process.
     *
     * @param device device ordinal
     * @return the pool; not to be destroyed
     * @throws CudaException {@code CUDA_ERROR_NOT_SUPPORTED} if the device has no memory pools
     */
    long deviceGetDefaultMemPool(int device);

    /**
     * Reads an attribute.
     *
     * @param device device ordinal
     * @param pool the pool
     * @param attribute what to read
     * @return its value; a flag is {@code 0} or {@code 1}
     */
    long memPoolGetAttribute(int device, long pool, PoolAttribute attribute);

    /**
     * Sets an attribute.
     *
     * @param device device ordinal
     * @param pool the pool
     * @param attribute a policy, or a high-water mark
     * @param value the value; a flag is {@code 0} or {@code 1}, and a high-water mark can only be set to {@code 0}
     * @throws CudaException {@code CUDA_ERROR_INVALID_VALUE} if the attribute cannot be set to that
     */
    void memPoolSetAttribute(int device, long pool, PoolAttribute attribute, long value);

    /**
     * Lets another device use a pool's memory, or forbids it.
     *
     * @param device device ordinal of the pool
     * @param pool the pool
     * @param accessingDevice the device that may use it
     * @param access what it may do
     */
    void memPoolSetAccess(int device, long pool, int accessingDevice, MemoryAccess access);

    /**
     * Gives unused memory back to the device until no more than a given amount is reserved. Memory whose free has not
     * taken effect yet counts as used.
     *
     * @param device device ordinal
     * @param pool the pool
     * @param minBytesToKeep reserved bytes that may stay, at least {@code 0}
     */
    void memPoolTrimTo(int device, long pool, long minBytesToKeep);

    /**
     * Allocates from a pool, ordered on a stream.
     *
     * @param device device ordinal
     * @param pool the pool
     * @param byteSize size in bytes
     * @param stream the stream
     * @return its address, a multiple of 256
     * @throws CudaException {@code CUDA_ERROR_OUT_OF_MEMORY} if neither pool nor device have that much left
     */
    long memAllocFromPoolAsync(int device, long pool, long byteSize, long stream);

    /**
     * Frees memory from a pool, ordered on a stream.
     *
     * @param device device ordinal
     * @param address what the allocation returned
     * @param stream the stream; need not be the allocation's, but must be ordered after every use
     */
    void memFreeAsync(int device, long address, long stream);
}
