package allocator.cuda.driver;

/**
 * Stream-ordered allocation from the driver's memory pools.
 *
 * <p>Memory from a pool may be used by work that follows the allocation on its stream, and by work on other streams
 * that is ordered after it. A free takes effect when its stream reaches it. The pool may then allocate the memory again
 * without returning it to the device. How much unused memory it retains at a synchronization is its
 * {@link PoolAttribute#RELEASE_THRESHOLD}, which is {@code 0} in a new pool.
 *
 * <p>These calls do not invalidate {@linkplain CudaStreams#streamBeginCapture captures} of other streams: they run in
 * the capture mode {@code CU_STREAM_CAPTURE_MODE_RELAXED}. On a stream that is being captured, an allocation would take
 * memory that the graph owns, and a free would be part of the graph.
 */
public interface CudaPools {
    /**
     * {@return a new pool of device memory}
     *
     * @param device device ordinal
     * @throws CudaException {@code CUDA_ERROR_NOT_SUPPORTED} if the device has no memory pools
     */
    long memPoolCreate(int device);

    /**
     * Destroys a pool. Memory that is still allocated from it stays valid and returns to the device when it is freed.
     *
     * @param device device ordinal
     * @param pool the pool
     */
    void memPoolDestroy(int device, long pool);

    /**
     * {@return the default pool of a device, which all code in the process shares; it must not be destroyed}
     *
     * @param device device ordinal
     * @throws CudaException {@code CUDA_ERROR_NOT_SUPPORTED} if the device has no memory pools
     */
    long deviceGetDefaultMemPool(int device);

    /**
     * {@return the value of an attribute; a flag is {@code 0} or {@code 1}}
     *
     * @param device device ordinal
     * @param pool the pool
     * @param attribute the attribute
     */
    long memPoolGetAttribute(int device, long pool, PoolAttribute attribute);

    /**
     * Sets an attribute.
     *
     * @param device device ordinal
     * @param pool the pool
     * @param attribute a policy, or a high-water mark
     * @param value the value; a flag is {@code 0} or {@code 1}, and a high-water mark can only be set to {@code 0}
     * @throws CudaException {@code CUDA_ERROR_INVALID_VALUE} if the attribute cannot be set to that value
     */
    void memPoolSetAttribute(int device, long pool, PoolAttribute attribute, long value);

    /**
     * Sets the access that another device has to a pool's memory.
     *
     * @param device device ordinal of the pool
     * @param pool the pool
     * @param accessingDevice the device that gets the access
     * @param access the access
     */
    void memPoolSetAccess(int device, long pool, int accessingDevice, MemoryAccess access);

    /**
     * Returns unused memory to the device, as long as at least a given amount stays reserved. A pool returns whole
     * allocations of its own, so more may stay. Memory whose free has not taken effect counts as used.
     *
     * @param device device ordinal
     * @param pool the pool
     * @param minBytesToKeep reserved bytes that stay at least, not negative; a pool with fewer keeps all
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
     * @throws CudaException {@code CUDA_ERROR_OUT_OF_MEMORY} if neither the pool nor the device has enough free memory
     */
    long memAllocFromPoolAsync(int device, long pool, long byteSize, long stream);

    /**
     * Frees memory from a pool, ordered on a stream.
     *
     * @param device device ordinal
     * @param address the address that the allocation returned
     * @param stream the stream; may differ from the allocation's, but must be ordered after every use
     */
    void memFreeAsync(int device, long address, long stream);
}
