package allocator.cuda.driver;

/**
 * The CUDA driver interface, as far as memory needs it.
 *
 * <p>A method is named after the driver's function, without the prefix: {@code memAlloc} is {@code cuMemAlloc}.
 * Addresses and handles are {@code long}, devices are ordinals from {@code 0}, sizes are bytes. Stream {@code 0} is the
 * device's legacy default stream. What NVIDIA documents of a function holds here too; the Javadoc says what is added or
 * decided.
 *
 * <ul>
 *   <li><em>Device and context.</em> Every call that works on a device names it, and runs in that device's primary
 *       context whatever the calling thread's current context is: a thread that never used CUDA may call, and a context
 *       that another library made current on the thread is current again afterwards. The primary context must have been
 *       {@linkplain #primaryContextRetain retained}.
 *   <li><em>Failure.</em> A method returns if the driver reported success and throws {@link CudaException} otherwise; a
 *       call that failed changed nothing. Sizes that are not positive fail with {@code CUDA_ERROR_INVALID_VALUE}, an
 *       ordinal out of range with {@code CUDA_ERROR_INVALID_DEVICE}, and a device without retained context with
 *       {@code CUDA_ERROR_INVALID_CONTEXT}.
 *   <li><em>Handles.</em> As in C, a handle or address that the driver did not give out, or that is destroyed, is not
 *       always noticed by a real driver. The simulated device notices.
 *   <li><em>Cost.</em> Allocation and free, pool allocation and free, and event record, query and wait allocate no Java
 *       objects when they succeed. Methods that wait ({@code synchronize}) hold the carrier of a virtual thread.
 * </ul>
 *
 * @implSpec Implementations are thread-safe.
 */
public interface CudaDriver extends CudaDevices, CudaMemory, CudaMemoryPools, CudaAddressRanges, CudaStreams {}
