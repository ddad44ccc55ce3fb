package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaFunction;
import allocator.cuda.driver.CudaResult;
import java.util.concurrent.atomic.AtomicLongArray;
import jcuda.driver.CUdevice;
import jcuda.driver.JCudaDriver;

/**
 * The primary contexts of all devices, and which context is current during a call.
 *
 * <p>The current context belongs to the operating system's thread. A virtual thread can change that thread between any
 * two calls, but not between {@link #enter} and the call that follows: nothing there can block in Java. So each call
 * asks the driver which context is current, and replaces it for the call if it is another device's or library's. Where
 * no context was current, the device's context stays current, and the next call on that thread need not set it.
 */
final class Contexts {
    private final CUdevice[] devices;

    /** The primary context of each device, 0 while it is not retained. Written with {@link #retained}. */
    private final AtomicLongArray contexts;

    /** How often each primary context is retained through this driver; guarded by itself. */
    private final int[] retained;

    Contexts(CUdevice[] devices) {
        this.devices = devices;
        contexts = new AtomicLongArray(devices.length);
        retained = new int[devices.length];
    }

    /** A call in the right context, with the cell to write its results to. */
    @FunctionalInterface
    interface Call {
        int run(int cell);
    }

    void retain(int device) {
        requireDevice(device, CudaFunction.DEVICE_PRIMARY_CTX_RETAIN);
        synchronized (retained) {
            final JCudaPointers.Context context = new JCudaPointers.Context();
            Results.check(
                    CaptureMode.relaxed(() ->
                            Results.ofJCuda(() -> JCudaDriver.cuDevicePrimaryCtxRetain(context, devices[device]))),
                    CudaFunction.DEVICE_PRIMARY_CTX_RETAIN,
                    "device=%d",
                    device);
            retained[device]++;
            contexts.set(device, context.handle());
        }
    }

    void release(int device) {
        requireDevice(device, CudaFunction.DEVICE_PRIMARY_CTX_RELEASE);
        synchronized (retained) {
            final int result = switch (retained[device]) {
                case 0 -> CudaResult.INVALID_CONTEXT;
                case 1 -> clearIfCurrent(device);
                default -> CudaResult.SUCCESS;
            };
            Results.check(result, CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, "device=%d", device);
            Results.check(
                    CaptureMode.relaxed(
                            () -> Results.ofJCuda(() -> JCudaDriver.cuDevicePrimaryCtxRelease(devices[device]))),
                    CudaFunction.DEVICE_PRIMARY_CTX_RELEASE,
                    "device=%d",
                    device);
            if (--retained[device] == 0) {
                contexts.set(device, 0);
            }
        }
    }

    /** Keeps the calling thread from being left with a destroyed context. */
    private int clearIfCurrent(int device) {
        final int cell = OutCell.take();
        try {
            final int result = LibCuda.call(LibCuda.CTX_GET_CURRENT, OutCell.address(cell));
            return result == CudaResult.SUCCESS && OutCell.getLong(cell) == contexts.get(device)
                    ? LibCuda.call(LibCuda.CTX_SET_CURRENT, 0L)
                    : result;
        } finally {
            OutCell.giveBack(cell);
        }
    }

    void requireDevice(int device, CudaFunction function) {
        if (device < 0 || device >= devices.length) {
            throw Results.failure(CudaResult.INVALID_DEVICE, function, "device=%d", device);
        }
    }

    /** Returns the device's context, which must be retained. */
    long require(int device, CudaFunction function) {
        requireDevice(device, function);
        final long context = contexts.get(device);
        if (context == 0) {
            throw Results.failure(CudaResult.INVALID_CONTEXT, function, "device=%d", device);
        }
        return context;
    }

    /** Returns the device's context, {@code 0} if it is not retained. */
    long of(int device) {
        return contexts.get(device);
    }

    /** Makes the device's context current; returns the context that was current before, for {@link #leave}. */
    long enter(int device, CudaFunction function) {
        final int cell = OutCell.take();
        try {
            return enter(device, cell, function);
        } finally {
            OutCell.giveBack(cell);
        }
    }

    /** As {@link #enter(int, CudaFunction)}, with a cell that the caller holds. */
    long enter(int device, int cell, CudaFunction function) {
        final long context = require(device, function);
        int result = LibCuda.call(LibCuda.CTX_GET_CURRENT, OutCell.address(cell));
        if (result == CudaResult.SUCCESS) {
            final long previous = OutCell.getLong(cell);
            if (previous == context) {
                return previous;
            }
            result = LibCuda.call(LibCuda.CTX_SET_CURRENT, context);
            if (result == CudaResult.SUCCESS) {
                return previous;
            }
        }
        throw Results.failure(result, function, "device=%d", device);
    }

    /** Makes the context current that {@link #enter} replaced. */
    void leave(int device, long previous) {
        if (previous != 0 && previous != contexts.get(device)) {
            LibCuda.call(LibCuda.CTX_SET_CURRENT, previous);
        }
    }

    /** Makes a call in the device's context and returns its result code. */
    int run(int device, CudaFunction function, Call call) {
        final int cell = OutCell.take();
        try {
            final long previous = enter(device, cell, function);
            final int result = call.run(cell);
            leave(device, previous);
            return result;
        } finally {
            OutCell.giveBack(cell);
        }
    }

    /** As {@link #run}, in the relaxed {@link CaptureMode}. */
    int runRelaxed(int device, CudaFunction function, Call call) {
        return run(device, function, cell -> CaptureMode.relaxed(() -> call.run(cell)));
    }
}
