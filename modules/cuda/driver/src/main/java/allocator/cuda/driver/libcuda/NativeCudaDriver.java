package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaAddressRanges;
import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaMemory;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.CudaStreams;
import jcuda.driver.CUdevice;

/**
 * The CUDA driver that is installed on this machine.
 *
 * <p>JCuda makes the calls whose arguments are numbers and addresses. {@link LibCuda} makes those that JCuda lacks
 * ({@code cuMemPoolSetAttribute} and similar) or does wrongly ({@code cuMemCreate}, {@code cuMemSetAccess}, pinned
 * memory of 2 GiB and more), those that take a handle, which JCuda cannot make from a number, and those that must not
 * create objects. Results of a call are read only if it succeeded.
 */
public record NativeCudaDriver(
        CudaDevices devices, CudaMemory memory, CudaPools pools, CudaAddressRanges addressRanges, CudaStreams streams)
        implements CudaDriver {
    /**
     * Initializes and returns the driver. {@link Prerequisites} must be met.
     *
     * @param driverVersion the version that the library reported
     * @throws CudaException if a call fails, for instance because the process sees no device
     */
    public static NativeCudaDriver initialize(int driverVersion) {
        final CUdevice[] handles = InstalledDevices.initialize();
        final CudaDeviceInfo[] infos = new CudaDeviceInfo[handles.length];
        for (int device = 0; device < infos.length; device++) {
            infos[device] = InstalledDevices.read(device, handles[device]);
        }
        final Contexts contexts = new Contexts(handles);
        final CudaDevices devices = new NativeDevices(contexts, driverVersion, infos);
        return new NativeCudaDriver(
                devices,
                new NativeMemory(contexts),
                new NativePools(contexts, devices),
                new NativeAddressRanges(contexts, devices),
                new NativeStreams(contexts));
    }
}
