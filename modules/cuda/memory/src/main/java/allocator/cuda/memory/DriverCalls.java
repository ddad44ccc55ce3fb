package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import org.jspecify.annotations.Nullable;

/** Translates failures of the driver into exceptions of the contract, and repeats calls that give something back. */
final class DriverCalls {
    private DriverCalls() {}

    /** Translates a failure that is not exhaustion, or need not be distinguished from it. */
    static DeviceException deviceException(CudaException e) {
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
     * earlier work, and what it did not give back would be lost.
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
                second.addSuppressed(first);
                throw second;
            }
        }
    }

    /** A sequence of calls that are all made, whichever fail. The first failure is thrown at the end. */
    static final class All {
        private @Nullable CudaException failure;

        /** Makes a call, twice if need be, and returns whether it succeeded. */
        boolean insist(Runnable call) {
            try {
                DriverCalls.insist(call);
                return true;
            } catch (CudaException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
                return false;
            }
        }

        void throwIfFailed() {
            if (failure != null) {
                throw deviceException(failure);
            }
        }
    }
}
