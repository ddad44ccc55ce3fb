package allocator.cuda.driver;

/** Devices and their primary contexts. */
public interface CudaDevices {
    /** {@return the driver's newest CUDA version: {@code 1000 * major + 10 * minor}, such as {@code 13000}} */
    int driverVersion();

    /** {@return the number of devices that this process can use; ordinals run from {@code 0} to one less} */
    int count();

    /**
     * {@return the name, identity, memory and capabilities of a device} Needs no context.
     *
     * @param device device ordinal
     * @throws CudaException if there is no such device
     */
    CudaDeviceInfo info(int device);

    /**
     * Retains the device's primary context, and creates it if no code in the process has retained it.
     *
     * @param device device ordinal
     * @throws CudaException if there is no such device, or the context cannot be created, for instance because the
     *     device is out of memory or in exclusive use
     */
    void primaryContextRetain(int device);

    /**
     * Reverses one {@link #primaryContextRetain}. The last release in the process destroys the context and everything
     * created in it.
     *
     * @param device device ordinal
     * @throws CudaException if there is no such device, or {@code CUDA_ERROR_INVALID_CONTEXT} if the context is not
     *     retained through this driver
     */
    void primaryContextRelease(int device);

    /**
     * {@return the handle of the device's primary context, in which all calls run}
     *
     * @param device device ordinal
     * @throws CudaException if there is no such device, or {@code CUDA_ERROR_INVALID_CONTEXT} if it is not retained
     */
    long ctxGetCurrent(int device);

    /**
     * {@return the ordinal of the device of a context, also of one that other code created}
     *
     * @param device device ordinal; the context may belong to another one
     * @param context the context
     */
    int ctxGetDevice(int device, long context);

    /**
     * Returns whether work of a device can be given access to the memory of another one. Needs no context.
     *
     * @param device device ordinal of the work
     * @param peer device ordinal of the memory
     * @return false if the hardware or the driver cannot, or both are the same device
     */
    boolean deviceCanAccessPeer(int device, int peer);

    /**
     * Lets work of a device's primary context access all memory of another one's, except that of pools and address
     * ranges, which have access of their own. Copies between devices need no access. Does nothing if it is enabled
     * already. It stays enabled until one of the contexts is destroyed.
     *
     * @param device device ordinal of the work
     * @param peer device ordinal of the memory; its primary context must be retained as well
     * @throws CudaException {@code CUDA_ERROR_PEER_ACCESS_UNSUPPORTED} if it cannot
     */
    void ctxEnablePeerAccess(int device, int peer);

    /**
     * Waits until the device has completed all work of its primary context.
     *
     * @param device device ordinal
     * @throws CudaException if the device or an earlier asynchronous operation failed, or while a stream of the context
     *     is being captured, which invalidates the capture
     */
    void ctxSynchronize(int device);
}
