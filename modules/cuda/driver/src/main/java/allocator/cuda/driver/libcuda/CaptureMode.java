package allocator.cuda.driver.libcuda;

import allocator.cuda.driver.CudaResult;
import java.util.function.IntSupplier;

/**
 * How a thread's calls affect captures of streams. CUDA calls some functions potentially unsafe and does not list them:
 * they are harmless to a capture of another stream, but invalidate it unless the thread's mode is relaxed. Therefore
 * calls run in the relaxed mode that take memory or return it, make or end an object of the driver, and ask or wait for
 * one. Calls that submit work to a stream or read its identity, and the begin and end of a capture, run in the thread's
 * own mode.
 */
final class CaptureMode {
    /** {@code CU_STREAM_CAPTURE_MODE_GLOBAL}. */
    static final int GLOBAL = 0;

    /** {@code CU_STREAM_CAPTURE_MODE_RELAXED}. */
    static final int RELAXED = 2;

    private CaptureMode() {}

    /** Makes a call in the relaxed mode; returns its result. */
    static int relaxed(IntSupplier call) {
        final int mode = enterRelaxed();
        try {
            return call.getAsInt();
        } finally {
            leave(mode);
        }
    }

    /** Makes the thread's mode relaxed; returns the mode before, for {@link #leave}. */
    static int enterRelaxed() {
        return exchange(RELAXED);
    }

    /** Restores the mode. */
    static void leave(int previous) {
        if (previous != RELAXED) {
            exchange(previous);
        }
    }

    private static int exchange(int mode) {
        final int cell = OutCell.take();
        try {
            OutCell.setInt(cell, 0, mode);
            final int result = LibCuda.call(LibCuda.THREAD_EXCHANGE_STREAM_CAPTURE_MODE, OutCell.address(cell));
            return result == CudaResult.SUCCESS ? OutCell.getInt(cell) : RELAXED;
        } finally {
            OutCell.giveBack(cell);
        }
    }
}
