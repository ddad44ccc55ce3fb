package allocator.cuda.driver;

/**
 * How much memory a device has.
 *
 * @param freeByteSize bytes that nobody on the machine has taken
 * @param totalByteSize all bytes
 */
public record CudaMemoryUsage(long freeByteSize, long totalByteSize) {}
