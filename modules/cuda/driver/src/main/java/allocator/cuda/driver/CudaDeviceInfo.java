package allocator.cuda.driver;

import java.util.UUID;

/**
 * Properties of a device; constant while the process lives.
 *
 * @param ordinal the number that identifies it in calls
 * @param name for instance {@code NVIDIA H200}
 * @param uuid identity of the physical device, the same in every process
 * @param pciBusId for instance {@code 0000:1b:00.0}
 * @param totalByteSize its memory in bytes
 * @param computeCapability {@code 10 * major + minor}, for instance {@code 90}
 * @param hasMemoryPools whether stream-ordered allocation works
 * @param hasVirtualMemory whether address ranges can be reserved and mapped
 * @param hasManagedMemory whether memory can be managed
 * @param hasConcurrentManagedAccess whether host and device may use managed memory at the same time
 */
public record CudaDeviceInfo(
        int ordinal,
        String name,
        UUID uuid,
        String pciBusId,
        long totalByteSize,
        int computeCapability,
        boolean hasMemoryPools,
        boolean hasVirtualMemory,
        boolean hasManagedMemory,
        boolean hasConcurrentManagedAccess) {}
