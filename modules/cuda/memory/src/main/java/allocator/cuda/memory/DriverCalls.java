package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;

/** Translates failures of the driver into exceptions of the contract, and repeats calls that give something back. */
final class DriverCalls {
    private DriverCalls() {}

    /** Translates a failure that is not exhaustion, or need not be distinguished from it. */
    static DeviceException deviceException(CudaException e) {
        CudaLog.debug("a call of the driver failed: {0}", String.valueOf(e.getMessage()));
        return new DeviceException(String.valueOf(e.getMessage()), e);
    }

    /** Translates a failed allocation of {@code byteSize} bytes. */
    static AllocatorException allocationFailure(CudaException e, CudaDevice device, MemoryInfo memory, long byteSize) {
        return e.isOutOfMemory()
                ? new OutOfMemoryException(
                        "The device has no memory left: " + e.getMessage(),
                        Shortage.ofDevice(memory, byteSize, freeBytes(device.driver(), device.ordinal())),
                        "",
                        e)
                : deviceException(e);
    }

    /** Returns what the device has free, {@link OutOfMemoryException#UNKNOWN} if it does not report it. */
    static long freeBytes(CudaDriver driver, int ordinal) {
        try {
            return driver.memory().memGetInfo(ordinal).freeByteSize();
        } catch (CudaException e) {
            return OutOfMemoryException.UNKNOWN;
        }
    }

    /**
     * Makes a call that gives something back, and repeats it once if it fails: such a call can report the failure of
     * earlier work.
     *
     * @throws CudaException if it failed twice
     */
    static void insist(Runnable call) {
        try {
            call.run();
        } catch (CudaException first) {
            try {
                call.run();
            } catch (CudaException second) {
                Failures.suppress(second, first);
                throw second;
            }
        }
    }

    /** A sequence of calls that are all made, whatever one of them throws. The first failure is thrown at the end. */
    static final class All {
        private final Failures failures = new Failures();

        /** Makes a call, twice if the driver fails, and returns whether it succeeded. */
        boolean insist(Runnable call) {
            return attempt(() -> DriverCalls.insist(call));
        }

        /** Makes a call once and returns whether it succeeded. */
        boolean attempt(Runnable call) {
            try {
                call.run();
                return true;
            } catch (Throwable e) {
                failures.add(e instanceof CudaException failed ? deviceException(failed) : e);
                return false;
            }
        }

        void throwIfFailed() {
            failures.throwIfAny();
        }
    }
}
