package allocator.cuda.driver;

/** Devices and their primary contexts. */
public interface CudaDevices {
    /**
     * Returns the newest CUDA version that the driver supports.
     *
     * @return {@code 1000 * major + 10 * minor}, for instance {@code 13000}
     */
    int driverVersion();

    /**
     * Returns how many devices this process sees.
     *
     * @return the number of devices; ordinals run from {@code 0} to one less
     */
    int count();

    /**
     * Returns what a device is. Needs no context.
     *
     * @param device device ordinal
     * @return its name, identity, memory and abilities
     * @throws CudaException if there is no such device
     */
    CudaDeviceInfo info(int device);

    /**
     * Retains the device's primary context, which is created if nobody in the process uses it yet.
     *
     * @param device device ordinal
     * @throws CudaException if there is no such device, or the context cannot be created, for instance because the
     *     device is out of memory or in exclusive use
     */
    void primaryContextRetain(int device);

    /**
     * Gives back one {@link #primaryContextRetain}. With the last one in the process the context and all that lives in
     * it is destroyed.
     *
     * @param device device ordinal
     * @throws CudaException if there is no such device, or {@code CUDA_ERROR_INVALID_CONTEXT} if this driver does not
     *     retain the context
     */
    void primaryContextRelease(int device);

    /**
     * Waits until the device has done all work of its primary context.
     *
     * @param device device ordinal
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    void ctxSynchronize(int device);
}
