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
public final class NativeCudaDriver implements CudaDriver {
    private final CudaDevices devices;
    private final CudaMemory memory;
    private final CudaPools pools;
    private final CudaAddressRanges addressRanges;
    private final CudaStreams streams;

    /**
     * Initializes the driver. {@link Prerequisites} must be met.
     *
     * @param driverVersion the version that the library reported
     * @throws CudaException if a call fails, for instance because the process sees no device
     */
    public NativeCudaDriver(int driverVersion) {
        final CUdevice[] handles = InstalledDevices.initialize();
        final CudaDeviceInfo[] infos = new CudaDeviceInfo[handles.length];
        for (int device = 0; device < infos.length; device++) {
            infos[device] = InstalledDevices.read(device, handles[device]);
        }
        final Contexts contexts = new Contexts(handles);
        devices = new NativeDevices(contexts, driverVersion, infos);
        memory = new NativeMemory(contexts);
        pools = new NativePools(contexts, devices);
        addressRanges = new NativeAddressRanges(contexts, devices);
        streams = new NativeStreams(contexts);
    }

    @Override
    public CudaDevices devices() {
        return devices;
    }

    @Override
    public CudaMemory memory() {
        return memory;
    }

    @Override
    public CudaPools pools() {
        return pools;
    }

    @Override
    public CudaAddressRanges addressRanges() {
        return addressRanges;
    }

    @Override
    public CudaStreams streams() {
        return streams;
    }
}
