package allocator.cuda.driver;

/**
 * Memory of a device at one moment.
 *
 * @param freeByteSize bytes that no process on the machine has allocated
 * @param totalByteSize all bytes
 */
public record CudaMemoryUsage(long freeByteSize, long totalByteSize) {}
