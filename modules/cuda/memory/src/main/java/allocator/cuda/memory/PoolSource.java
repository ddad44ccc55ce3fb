package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.PoolAttribute;
import allocator.provider.support.Limit;
import allocator.spi.AllocatorException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import org.jspecify.annotations.Nullable;

/**
 * Takes memory from a pool of the driver, within the limit.
 *
 * <p><b>Exhaustion.</b> Frees that are still queued hold memory. So when the driver has none left, the device is
 * synchronized, and the driver asked once more.
 *
 * <p><b>The limit.</b> The driver extends a pool in steps of its granularity. What the pool holds is compared with the
 * limit after each extension, and given back at once if it is too much; the limit is rounded up to a multiple of the
 * granularity, as a smaller one could never be kept. Under a limit one thread allocates at a time.
 */
final class PoolSource {
    private final CudaDevice device;
    private final CudaDriver driver;
    private final CudaPools pools;
    private final int ordinal;
    private final long pool;
    private final Limit limit;
    private final PoolBlocks blocks;
    private final Object limitLock = new Object();

    PoolSource(CudaDevice device, long pool, Limit limit, PoolBlocks blocks) {
        this.device = device;
        this.pool = pool;
        this.limit = limit;
        this.blocks = blocks;
        driver = device.driver();
        pools = driver.pools();
        ordinal = device.ordinal();
    }

    /** A limit rounded up to the pool's granularity, which is measured with one byte on an idle stream. */
    static Limit rounded(Limit limit, CudaDriver driver, int ordinal, long pool, long stream) {
        return limit.isLimited()
                ? new Limit(roundUp(limit.bytes(), granularity(driver, ordinal, pool, stream)))
                : limit;
    }

    /** How much the driver takes for the smallest allocation. */
    private static long granularity(CudaDriver driver, int ordinal, long pool, long stream) {
        final long address = driver.pools().memAllocFromPoolAsync(ordinal, pool, 1, stream);
        try {
            return driver.pools().memPoolGetAttribute(ordinal, pool, PoolAttribute.RESERVED_MEM_CURRENT);
        } finally {
            DriverCalls.insist(() -> driver.pools().memFreeAsync(ordinal, address, stream));
            DriverCalls.insist(() -> driver.streams().streamSynchronize(ordinal, stream));
            DriverCalls.insist(() -> driver.pools().memPoolTrimTo(ordinal, pool, 0));
        }
    }

    private static long roundUp(long byteSize, long granularity) {
        final long multiple = (byteSize - 1) / granularity + 1;
        return multiple > Long.MAX_VALUE / granularity ? Long.MAX_VALUE : multiple * granularity;
    }

    /**
     * Takes memory, ordered on a stream.
     *
     * @throws CudaException if the driver fails for another reason than lack of memory
     * @throws OutOfMemoryException if limit or device have no room
     */
    long take(long byteSize, long stream) {
        return limit.isLimited() ? takeWithinLimit(byteSize, stream) : takeOrRetry(byteSize, stream);
    }

    private long takeOrRetry(long byteSize, long stream) {
        try {
            return pools.memAllocFromPoolAsync(ordinal, pool, byteSize, stream);
        } catch (CudaException e) {
            if (!e.isOutOfMemory()) {
                throw e;
            }
            if (byteSize > device.info().totalByteSize()) {
                throw outOfMemory("The device is not that large", byteSize, e);
            }
        }
        driver.devices().ctxSynchronize(ordinal);
        try {
            return pools.memAllocFromPoolAsync(ordinal, pool, byteSize, stream);
        } catch (CudaException e) {
            throw e.isOutOfMemory()
                    ? outOfMemory("The device has no memory left, also after it was synchronized", byteSize, e)
                    : e;
        }
    }

    private long takeWithinLimit(long byteSize, long stream) {
        synchronized (limitLock) {
            if (byteSize > limit.bytes() - blocks.bytesInUse()) {
                throw outOfMemory("The limit is reached", byteSize, null);
            }
            long address = tryWithinLimit(byteSize, stream);
            if (address == 0) {
                driver.devices().ctxSynchronize(ordinal);
                pools.memPoolTrimTo(ordinal, pool, 0);
                address = tryWithinLimit(byteSize, stream);
            }
            if (address == 0) {
                throw outOfMemory("The limit is reached, as free memory is fragmented", byteSize, null);
            }
            return address;
        }
    }

    /** Takes memory; {@code 0} if the pool would then hold more than the limit. */
    private long tryWithinLimit(long byteSize, long stream) {
        final long held = bytesHeld();
        if (byteSize > limit.bytes() - held && byteSize > held - attribute(PoolAttribute.USED_MEM_CURRENT)) {
            return 0;
        }
        final long address = takeOrRetry(byteSize, stream);
        boolean isWithinLimit = false;
        try {
            final long heldNow = bytesHeld();
            isWithinLimit = heldNow <= limit.bytes();
            if (isWithinLimit) {
                // The driver's own high-water mark also counts what was taken and given back at once.
                blocks.held(heldNow);
            }
        } finally {
            if (!isWithinLimit) {
                DriverCalls.insist(() -> pools.memFreeAsync(ordinal, address, stream));
                DriverCalls.insist(() -> driver.streams().streamSynchronize(ordinal, stream));
                DriverCalls.insist(() -> pools.memPoolTrimTo(ordinal, pool, 0));
            }
        }
        return isWithinLimit ? address : 0;
    }

    /** Bytes that the pool holds. */
    long bytesHeld() {
        return attribute(PoolAttribute.RESERVED_MEM_CURRENT);
    }

    /** The most that the pool held, as far as the driver knows it apart from what the limit rejected. */
    long peakBytesHeld(long heldNow) {
        return limit.isLimited() ? heldNow : attribute(PoolAttribute.RESERVED_MEM_HIGH);
    }

    private long attribute(PoolAttribute attribute) {
        return pools.memPoolGetAttribute(ordinal, pool, attribute);
    }

    private AllocatorException outOfMemory(String reason, long byteSize, @Nullable CudaException cause) {
        blocks.failed();
        final Shortage shortage = new Shortage(
                device.defaultMemory(),
                byteSize,
                byteSize,
                limit.toStats(),
                blocks.bytesInUse(),
                heldIfKnown(),
                OutOfMemoryException.UNKNOWN,
                DriverCalls.freeBytes(driver, ordinal));
        return new OutOfMemoryException(reason, shortage, "", cause);
    }

    private long heldIfKnown() {
        try {
            return bytesHeld();
        } catch (CudaException e) {
            return OutOfMemoryException.UNKNOWN;
        }
    }
}
