package allocator.cuda.simulated.device;

import allocator.cuda.driver.CudaResult;

/** Sizes and alignments of the simulated device. */
final class Sizes {
    static final long MEM_ALLOC_ALIGNMENT = 256;
    static final long POOL_ALIGNMENT = 512;
    static final long PHYSICAL_GRANULARITY = 2L << 20;

    private Sizes() {}

    static long roundUp(long byteSize, long powerOfTwo) {
        return (byteSize + powerOfTwo - 1) & -powerOfTwo;
    }

    /** Rounds a request up; a request too large for any device is out of memory, not an overflow. */
    static long roundRequest(long byteSize, long powerOfTwo) {
        requirePositive(byteSize);
        if (byteSize > Long.MAX_VALUE / 2) {
            throw new CallFailure(CudaResult.OUT_OF_MEMORY);
        }
        return roundUp(byteSize, powerOfTwo);
    }

    static void requirePositive(long byteSize) {
        if (byteSize <= 0) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
    }

    static void requireMultiple(long value, long powerOfTwo) {
        if ((value & (powerOfTwo - 1)) != 0) {
            throw new CallFailure(CudaResult.INVALID_VALUE);
        }
    }
}
