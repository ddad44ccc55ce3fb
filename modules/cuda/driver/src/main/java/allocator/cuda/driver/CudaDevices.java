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
     * Returns the number of devices that this process can use.
     *
     * @return the number of devices; ordinals run from {@code 0} to one less
     */
    int count();

    /**
     * Returns the properties of a device. Needs no context.
     *
     * @param device device ordinal
     * @return its name, identity, memory and capabilities
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
     * Waits until the device has completed all work of its primary context.
     *
     * @param device device ordinal
     * @throws CudaException if the device or an earlier asynchronous operation failed
     */
    void ctxSynchronize(int device);
}
