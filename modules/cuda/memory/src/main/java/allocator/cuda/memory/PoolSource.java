package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.PoolAttribute;
import allocator.provider.support.Limit;
import allocator.provider.support.StackReserve;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.spi.AllocatorException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.StreamCaptureException;
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
    private final long ownStream;
    private final Limit limit;
    private final PoolBlocks blocks;
    private final Object limitLock = new Object();

    /** Gives a block back while its stream, if it has one, is in use by the caller. */
    private final PoolBlocks.Return giveBack;

    /** As that, and tries twice: under the limit's lock, where no other thread gets the block in between. */
    private final PoolBlocks.Return giveBackWithinLimit;

    PoolSource(CudaDevice device, PoolHandles handles, Limit limit, PoolBlocks blocks) {
        AllocatorEvents.prepare();
        this.device = device;
        pool = handles.pool();
        ownStream = handles.stream();
        this.limit = limit;
        this.blocks = blocks;
        driver = device.driver();
        pools = driver.pools();
        ordinal = device.ordinal();
        giveBack = (address, stream) -> {
            pools.memFreeAsync(ordinal, address, handle(stream));
            return true;
        };
        giveBackWithinLimit = (address, stream) -> {
            DriverCalls.insist(() -> pools.memFreeAsync(ordinal, address, handle(stream)));
            return true;
        };
    }

    private long handle(@Nullable CudaSyncStream stream) {
        return stream == null ? ownStream : stream.handle();
    }

    /** A limit rounded up to the pool's granularity, which is measured with one byte on an idle stream. */
    static Limit rounded(Limit limit, PoolHandles handles) {
        return limit.isLimited() ? new Limit(roundUp(limit.bytes(), handles.granularity())) : limit;
    }

    private static long roundUp(long byteSize, long granularity) {
        final long multiple = (byteSize - 1) / granularity + 1;
        return multiple > Long.MAX_VALUE / granularity ? Long.MAX_VALUE : multiple * granularity;
    }

    /**
     * Takes memory, ordered on a stream. The caller has made room in the books for a block.
     *
     * @param stream in use by the caller; {@code null} for the pool's own
     * @throws CudaException if the driver fails for another reason than lack of memory
     * @throws OutOfMemoryException if limit or device have not enough memory
     */
    long take(long byteSize, @Nullable CudaSyncStream stream) {
        return limit.isLimited() ? takeWithinLimit(byteSize, stream) : takeOrRetry(byteSize, handle(stream));
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
        final String hindrance = synchronizeDevice();
        try {
            return pools.memAllocFromPoolAsync(ordinal, pool, byteSize, stream);
        } catch (CudaException e) {
            throw e.isOutOfMemory() ? outOfMemory("The device has no memory left, " + hindrance, byteSize, e) : e;
        }
    }

    /** Waits for the device, so that queued frees take effect; returns how that went, for a message. */
    private String synchronizeDevice() {
        try {
            device.synchronize("wait for queued frees");
            return "also after it was synchronized";
        } catch (StreamCaptureException e) {
            return "and it was not synchronized: " + e.getMessage();
        }
    }

    private long takeWithinLimit(long byteSize, @Nullable CudaSyncStream stream) {
        StackReserve.touch(); // which costs less than one of the driver's calls here
        synchronized (limitLock) {
            if (byteSize > limit.bytes() - blocks.bytesInUse()) {
                throw outOfMemory("The limit of arena.max_mem is reached", byteSize, null);
            }
            long address = tryWithinLimit(byteSize, stream);
            if (address == 0) {
                synchronizeDevice();
                trim();
                address = tryWithinLimit(byteSize, stream);
            }
            if (address == 0) {
                throw outOfMemory(
                        "The limit of arena.max_mem is reached, as free memory is fragmented", byteSize, null);
            }
            return address;
        }
    }

    /** Takes memory; {@code 0} if the pool would then hold more than the limit. */
    private long tryWithinLimit(long byteSize, @Nullable CudaSyncStream stream) {
        final long held = bytesHeld();
        if (byteSize > limit.bytes() - held && byteSize > held - attribute(PoolAttribute.USED_MEM_CURRENT)) {
            return 0;
        }
        final long address = takeOrRetry(byteSize, handle(stream));
        try {
            final long heldNow = bytesHeld();
            if (heldNow <= limit.bytes()) {
                // The driver's own high-water mark also counts what was taken and given back at once.
                blocks.held(heldNow);
                return address;
            }
        } catch (Throwable e) {
            rollBack(e, address, byteSize, stream, giveBackWithinLimit);
            throw e;
        }
        blocks.giveBack(address, byteSize, stream, giveBackWithinLimit);
        trim(handle(stream));
        return 0;
    }

    /** Returns what was freed on a stream just now to the device. */
    private void trim(long stream) {
        DriverCalls.insist(() -> device.synchronizeStream(stream));
        DriverCalls.insist(this::trim);
    }

    private void trim() {
        pools.memPoolTrimTo(ordinal, pool, 0);
        device.checks().hostWaited();
    }

    /**
     * Returns free memory to the device, with the event of it.
     *
     * @param bytesToKeep what the pool need not return
     * @param before the bytes that it holds
     * @return the bytes that it holds afterwards
     */
    long shrinkTo(long bytesToKeep, long before, DriverCalls.All calls) {
        final DeviceCall call = AllocatorEvents.shrinking(device.defaultMemory(), DevicePart.POOL, 0);
        final boolean isTrimmed = calls.attempt(() -> pools.memPoolTrimTo(ordinal, pool, bytesToKeep));
        final long after = isTrimmed ? bytesHeld() : before;
        call.measured(Math.max(0, before - after));
        call.end(isTrimmed, 0);
        return after;
    }

    /**
     * Gives back memory of a call that failed; what is thrown meanwhile is suppressed.
     *
     * @param stream in use by the caller; {@code null} for the pool's own
     */
    void rollBack(Throwable cause, long address, long byteSize, @Nullable CudaSyncStream stream) {
        rollBack(cause, address, byteSize, stream, giveBack);
    }

    private void rollBack(
            Throwable cause,
            long address,
            long byteSize,
            @Nullable CudaSyncStream stream,
            PoolBlocks.Return giveBackOfCaller) {
        blocks.rollBack(cause, address, byteSize, stream, giveBackOfCaller);
        if (limit.isLimited()) {
            try {
                trim(handle(stream));
            } catch (Throwable e) {
                DriverCalls.suppress(cause, e);
            }
        }
    }

    /** Bytes that the pool holds. */
    long bytesHeld() {
        return attribute(PoolAttribute.RESERVED_MEM_CURRENT);
    }

    /** Bytes that the pool holds. Under a limit, waits for an allocation that may yet be found too much. */
    long settledBytesHeld() {
        if (!limit.isLimited()) {
            return bytesHeld();
        }
        synchronized (limitLock) {
            return bytesHeld();
        }
    }

    /** The most that the pool held, as far as the driver knows it apart from what the limit rejected. */
    long peakBytesHeld(long heldNow) {
        return limit.isLimited() ? heldNow : attribute(PoolAttribute.RESERVED_MEM_HIGH);
    }

    private long attribute(PoolAttribute attribute) {
        return pools.memPoolGetAttribute(ordinal, pool, attribute);
    }

    private AllocatorException outOfMemory(String reason, long byteSize, @Nullable CudaException cause) {
        final Shortage shortage = new Shortage(
                device.defaultMemory(),
                byteSize,
                byteSize,
                limit.toStats(),
                blocks.bytesInUse(),
                heldIfKnown(),
                OutOfMemoryException.UNKNOWN,
                DriverCalls.freeBytes(driver, ordinal));
        final OutOfMemoryException exception = new OutOfMemoryException(reason, shortage, "", cause);
        blocks.failed();
        return exception;
    }

    private long heldIfKnown() {
        try {
            return bytesHeld();
        } catch (CudaException e) {
            return OutOfMemoryException.UNKNOWN;
        }
    }
}
