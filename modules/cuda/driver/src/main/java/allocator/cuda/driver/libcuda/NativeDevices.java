package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaDeviceInfo;
import allocator.cuda.driver.CudaDevices;
import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
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
    public long ctxGetCurrent(int device) {
        return contexts.require(device, CudaFunction.CTX_GET_CURRENT);
    }

    @Override
    public int ctxGetDevice(int device, long context) {
        final long[] ordinal = new long[1];
        final int result = contexts.run(device, CudaFunction.CTX_GET_DEVICE, cell -> {
            int code = LibCuda.call(LibCuda.CTX_SET_CURRENT, context);
            if (code == CudaResult.SUCCESS) {
                code = LibCuda.call(LibCuda.CTX_GET_DEVICE, OutCell.address(cell));
                ordinal[0] = OutCell.getInt(cell);
                LibCuda.call(LibCuda.CTX_SET_CURRENT, contexts.of(device));
            }
            return code;
        });
        Results.check(result, CudaFunction.CTX_GET_DEVICE, "context=%#x", context);
        return (int) ordinal[0];
    }

    @Override
    public boolean deviceCanAccessPeer(int device, int peer) {
        contexts.requireDevice(device, CudaFunction.DEVICE_CAN_ACCESS_PEER);
        contexts.requireDevice(peer, CudaFunction.DEVICE_CAN_ACCESS_PEER);
        if (device == peer) {
            return false;
        }
        final int cell = OutCell.take();
        try {
            Results.check(
                    CaptureMode.relaxed(() ->
                            LibCuda.callWithInts(LibCuda.DEVICE_CAN_ACCESS_PEER, OutCell.address(cell), device, peer)),
                    CudaFunction.DEVICE_CAN_ACCESS_PEER,
                    "device=%d, peer=%d",
                    device,
                    peer);
            return OutCell.getInt(cell) != 0;
        } finally {
            OutCell.giveBack(cell);
        }
    }

    @Override
    public void ctxEnablePeerAccess(int device, int peer) {
        final long context = contexts.require(peer, CudaFunction.CTX_ENABLE_PEER_ACCESS);
        final int result = contexts.runRelaxed(
                device,
                CudaFunction.CTX_ENABLE_PEER_ACCESS,
                cell -> LibCuda.callWithInt(LibCuda.CTX_ENABLE_PEER_ACCESS, context, 0));
        if (result != CudaResult.PEER_ACCESS_ALREADY_ENABLED) {
            Results.check(result, CudaFunction.CTX_ENABLE_PEER_ACCESS, "device=%d, peer=%d", device, peer);
        }
    }

    @Override
    public void ctxSynchronize(int device) {
        final long previous = contexts.enter(device, CudaFunction.CTX_SYNCHRONIZE);
        final int result = CaptureMode.relaxed(() -> Results.ofJCuda(JCudaDriver::cuCtxSynchronize));
        contexts.leave(device, previous);
        Results.check(result, CudaFunction.CTX_SYNCHRONIZE, "device=%d", device);
    }
}
