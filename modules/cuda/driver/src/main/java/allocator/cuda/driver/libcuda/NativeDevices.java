package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaFunction;
import jcuda.driver.JCudaDriver;

/** {@link CudaDevices} of the installed driver. */
final class NativeDevices implements CudaDevices {
    private final Contexts contexts;
    private final int driverVersion;
    private final CudaDeviceInfo[] infos;

    NativeDevices(Contexts contexts, int driverVersion, CudaDeviceInfo[] infos) {
        this.contexts = contexts;
        this.driverVersion = driverVersion;
        this.infos = infos;
    }

    @Override
    public int driverVersion() {
        return driverVersion;
    }

    @Override
    public int count() {
        return infos.length;
    }

    @Override
    public CudaDeviceInfo info(int device) {
        contexts.requireDevice(device, CudaFunction.DEVICE_GET);
        return infos[device];
    }

    @Override
    public void primaryContextRetain(int device) {
        contexts.retain(device);
    }

    @Override
    public void primaryContextRelease(int device) {
        contexts.release(device);
    }

    @Override
    public void ctxSynchronize(int device) {
        final long previous = contexts.enter(device, CudaFunction.CTX_SYNCHRONIZE);
        final int result = Results.ofJCuda(JCudaDriver::cuCtxSynchronize);
        contexts.leave(device, previous);
        Results.check(result, CudaFunction.CTX_SYNCHRONIZE, "device=%d", device);
    }
}
