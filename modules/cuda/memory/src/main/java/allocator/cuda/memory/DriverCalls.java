package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.spi.AllocatorException;
import allocator.spi.DeviceException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import org.jspecify.annotations.Nullable;

/** The driver's refusals in the words of the contract. */
final class DriverCalls {
    private DriverCalls() {}

    /** A refusal that is not, or need not be told from, exhaustion. */
    static DeviceException deviceException(CudaException e) {
        return new DeviceException(String.valueOf(e.getMessage()), e);
    }

    /** A refused allocation of {@code byteSize} bytes. */
    static AllocatorException refusal(CudaException e, CudaDevice device, MemoryInfo memory, long byteSize) {
        return e.isOutOfMemory()
                ? new OutOfMemoryException(
                        "The device refused memory: " + e.getMessage(),
                        Shortage.ofDevice(memory, byteSize, freeBytes(device.driver(), device.ordinal())),
                        "",
                        e)
                : deviceException(e);
    }

    /** What the device has free, {@link OutOfMemoryException#UNKNOWN} if it does not say. */
    static long freeBytes(CudaDriver driver, int ordinal) {
        try {
            return driver.memory().memGetInfo(ordinal).freeByteSize();
        } catch (CudaException e) {
            return OutOfMemoryException.UNKNOWN;
        }
    }

    /**
     * Makes a call that gives something back, a second time if need be. Such a call can report the failure of earlier
     * work, and what it did not give back would be lost.
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

    /** Several calls that are all made, whatever fails; the first failure is thrown at the end. */
    static final class All {
        private @Nullable CudaException failure;

        /** Insists on a call; returns whether it succeeded. */
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
