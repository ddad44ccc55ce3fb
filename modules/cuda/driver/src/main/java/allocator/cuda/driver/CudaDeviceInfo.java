package allocator.cuda.driver;

import java.util.UUID;

/**
 * What a device is; fixed while the process lives.
 *
 * @param ordinal number under which calls name it
 * @param name for instance {@code NVIDIA H200}
 * @param uuid identity of this very device, the same in every process
 * @param pciBusId for instance {@code 0000:1b:00.0}
 * @param totalByteSize its memory
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
