package allocator.cuda.driver;

/**
 * Device, managed and pinned host memory, and copies between them.
 *
 * <p>Allocated memory is not zeroed. An asynchronous operation is ordered on its stream; the memory it uses must stay
 * allocated, and its source unchanged, until the stream has completed it. Pinned and managed addresses are valid on
 * host and device alike.
 *
 * <p>Calls without a stream do not invalidate captures of streams: they run in the capture mode
 * {@code CU_STREAM_CAPTURE_MODE_RELAXED}.
 */
public interface CudaMemory {
    /**
     * Allocates device memory. May wait for the device.
     *
     * @param device device ordinal
     * @param byteSize size in bytes
     * @return its address, a multiple of 256
     * @throws CudaException {@code CUDA_ERROR_OUT_OF_MEMORY} if the device has not enough free memory
     */
    long memAlloc(int device, long byteSize);

    /**
     * Frees memory from {@link #memAlloc} or {@link #memAllocManaged}. May wait until the device is idle.
     *
     * @param device device ordinal
     * @param address the address that the allocation returned
     * @throws CudaException {@code CUDA_ERROR_INVALID_VALUE} if nothing is allocated there
     */
    void memFree(int device, long address);

    /**
     * {@return how many bytes of memory the device has, and how many of them are free, at this moment}
     *
     * @param device device ordinal
     */
    CudaMemoryUsage memGetInfo(int device);

    /**
     * Allocates managed memory: host and device use it at one address, and its pages migrate to where they are used.
     *
     * @param device device ordinal
     * @param byteSize size in bytes; may exceed the device's memory
     * @return its address, to be freed by {@link #memFree}
     * @throws CudaException {@code CUDA_ERROR_NOT_SUPPORTED} if the device has no managed memory
     */
    long memAllocManaged(int device, long byteSize);

    /**
     * Allocates page-locked host memory.
     *
     * @param device device ordinal
     * @param byteSize size in bytes
     * @param isPortable whether it counts as pinned for all devices, not just this one
     * @return its address
     * @throws CudaException {@code CUDA_ERROR_OUT_OF_MEMORY} if the host cannot lock that much memory
     */
    long memHostAlloc(int device, long byteSize, boolean isPortable);

    /**
     * Frees memory from {@link #memHostAlloc}. May wait until the device is idle.
     *
     * @param device device ordinal
     * @param address the address that the allocation returned
     * @throws CudaException {@code CUDA_ERROR_INVALID_VALUE} if nothing is allocated there
     */
    void memFreeHost(int device, long address);

    /**
     * Fills memory, on the default stream.
     *
     * @param device device ordinal
     * @param address first byte
     * @param value the value of each byte
     * @param byteSize number of bytes
     */
    void memsetD8(int device, long address, byte value, long byteSize);

    /**
     * Fills memory, ordered on a stream.
     *
     * @param device device ordinal
     * @param address first byte
     * @param value the value of each byte
     * @param byteSize number of bytes
     * @param stream the stream
     */
    void memsetD8Async(int device, long address, byte value, long byteSize, long stream);

    /**
     * Copies host memory to device memory; the source has been read when this method returns.
     *
     * @param device device ordinal
     * @param target device address
     * @param source host address
     * @param byteSize number of bytes
     */
    void memcpyHtoD(int device, long target, long source, long byteSize);

    /**
     * Copies host memory to device memory, ordered on a stream.
     *
     * @param device device ordinal
     * @param target device address
     * @param source host address; the copy is asynchronous only if it is pinned
     * @param byteSize number of bytes
     * @param stream the stream
     */
    void memcpyHtoDAsync(int device, long target, long source, long byteSize, long stream);

    /**
     * Copies device memory to host memory; the target has been written when this method returns.
     *
     * @param device device ordinal
     * @param target host address
     * @param source device address
     * @param byteSize number of bytes
     */
    void memcpyDtoH(int device, long target, long source, long byteSize);

    /**
     * Copies device memory to host memory, ordered on a stream.
     *
     * @param device device ordinal
     * @param target host address; the copy is asynchronous only if it is pinned
     * @param source device address
     * @param byteSize number of bytes
     * @param stream the stream
     */
    void memcpyDtoHAsync(int device, long target, long source, long byteSize, long stream);

    /**
     * Copies within one device's memory, on the default stream.
     *
     * @param device device ordinal
     * @param target device address
     * @param source device address
     * @param byteSize number of bytes
     */
    void memcpyDtoD(int device, long target, long source, long byteSize);

    /**
     * Copies within one device's memory, ordered on a stream.
     *
     * @param device device ordinal
     * @param target device address
     * @param source device address
     * @param byteSize number of bytes
     * @param stream the stream
     */
    void memcpyDtoDAsync(int device, long target, long source, long byteSize, long stream);

    /**
     * Copies from one device's memory to another's, ordered on a stream of the target device.
     *
     * @param targetDevice device ordinal of target and stream; both devices' contexts must be retained
     * @param target device address
     * @param sourceDevice device ordinal of the source
     * @param source device address
     * @param byteSize number of bytes
     * @param stream the stream
     */
    void memcpyPeerAsync(int targetDevice, long target, int sourceDevice, long source, long byteSize, long stream);
}
