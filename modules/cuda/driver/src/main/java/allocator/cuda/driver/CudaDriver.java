package allocator.cuda.driver;

/**
 * The part of the CUDA driver API that manages memory, in five groups of functions.
 *
 * <p>A method is named after the driver's function, without the prefix: {@code memory().memAlloc} is
 * {@code cuMemAlloc}. Addresses and handles are {@code long}, devices are ordinals from {@code 0}, sizes are bytes.
 * Stream {@code 0} is the device's legacy default stream. What NVIDIA documents of a function holds here too; the
 * Javadoc says what is added or decided.
 *
 * <ul>
 *   <li><em>Device and context.</em> Every method that works on a device takes its ordinal and runs in that device's
 *       primary context, whatever context is current on the calling thread. A thread that never used CUDA may call. A
 *       context that another library made current on the thread is current again when the method returns. The primary
 *       context must have been {@linkplain CudaDevices#primaryContextRetain retained}.
 *   <li><em>Failure.</em> A method returns if the driver reported success and throws {@link CudaException} otherwise; a
 *       call that fails changes nothing. A size that is not positive fails with {@code CUDA_ERROR_INVALID_VALUE}, an
 *       ordinal out of range with {@code CUDA_ERROR_INVALID_DEVICE}, and a device without a retained context with
 *       {@code CUDA_ERROR_INVALID_CONTEXT}.
 *   <li><em>Handles.</em> As in C, a real driver does not always detect a handle or an address that it did not return
 *       or that is destroyed. The simulated driver does.
 *   <li><em>Cost.</em> Allocation and free, pool allocation and free, and event record, query and wait create no Java
 *       objects when they succeed. Methods that wait ({@code synchronize}) pin the carrier of a virtual thread.
 * </ul>
 *
 * @implSpec Implementations are thread-safe. Each accessor returns the same object at every call, so a caller may store
 *     it in a final field.
 */
public interface CudaDriver {
    /** {@return the functions on devices and their primary contexts, the same object at every call} */
    CudaDevices devices();

    /** {@return the functions that allocate, fill and copy memory, the same object at every call} */
    CudaMemory memory();

    /** {@return the functions on stream-ordered memory pools, the same object at every call} */
    CudaPools pools();

    /** {@return the functions that reserve addresses and map physical memory, the same object at every call} */
    CudaAddressRanges addressRanges();

    /** {@return the functions on streams and events, the same object at every call} */
    CudaStreams streams();
}
