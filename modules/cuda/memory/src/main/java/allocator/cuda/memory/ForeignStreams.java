package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaResult;

/** Checks of streams that other code has created. */
final class ForeignStreams {
    /** {@code CU_STREAM_LEGACY}, another handle of the default stream. */
    private static final long LEGACY = 1;

    /** {@code CU_STREAM_PER_THREAD}. */
    private static final long PER_THREAD = 2;

    private ForeignStreams() {}

    /**
     * Returns the identity of a stream, which the driver never reuses.
     *
     * @param device the device, with a context
     * @param handle the stream, {@code 0} for the legacy default stream of the device's primary context
     * @throws IllegalArgumentException if it is no stream of that context
     * @throws CudaException if the driver fails otherwise
     */
    static long identify(CudaDevice device, long handle) {
        if (handle == LEGACY) {
            throw rejected(device, handle, "it is CU_STREAM_LEGACY; pass 0, the same stream");
        }
        if (handle == PER_THREAD) {
            throw rejected(
                    device, handle, "it is CU_STREAM_PER_THREAD, another stream on each thread; pass a stream's own");
        }
        final CudaDriver driver = device.driver();
        final int ordinal = device.ordinal();
        try {
            final long context = driver.streams().streamGetCtx(ordinal, handle);
            if (context != driver.devices().ctxGetCurrent(ordinal)) {
                throw rejected(device, handle, describeOwner(driver, ordinal, context));
            }
            return driver.streams().streamGetId(ordinal, handle);
        } catch (CudaException e) {
            if (isUnknown(e)) {
                throw new IllegalArgumentException(
                        message(device, handle, "the driver knows no such stream; it was destroyed, or is none"), e);
            }
            throw e;
        }
    }

    private static String describeOwner(CudaDriver driver, int ordinal, long context) {
        final int owner = driver.devices().ctxGetDevice(ordinal, context);
        return owner == ordinal
                ? "it belongs to a context other than the device's primary one; create it in that one"
                : "it is a stream of gpu:" + owner + "; view it there";
    }

    /** Returns whether a call has failed since its handle is none, as far as the driver knows. */
    static boolean isUnknown(CudaException e) {
        return switch (e.result()) {
            case CudaResult.INVALID_VALUE,
                    CudaResult.INVALID_CONTEXT,
                    CudaResult.INVALID_HANDLE,
                    CudaResult.CONTEXT_IS_DESTROYED -> true;
            default -> false;
        };
    }

    private static IllegalArgumentException rejected(CudaDevice device, long handle, String reason) {
        return new IllegalArgumentException(message(device, handle, reason));
    }

    private static String message(CudaDevice device, long handle, String reason) {
        return "CUstream 0x%x cannot be viewed as a stream of gpu:%d: %s".formatted(handle, device.ordinal(), reason);
    }
}
