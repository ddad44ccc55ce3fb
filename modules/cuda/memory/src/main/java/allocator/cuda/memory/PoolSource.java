package allocator.cuda.memory;

import allocator.cuda.driver.CudaDriver;
import allocator.cuda.driver.CudaException;
import allocator.cuda.driver.CudaPools;
import allocator.cuda.driver.PoolAttribute;
import allocator.provider.support.BlockLedger;
import allocator.provider.support.Limit;
import allocator.provider.support.budget.Budget;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.event.DeviceCall;
import allocator.provider.support.event.DevicePart;
import allocator.spi.AllocatorException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.StreamCaptureException;
import org.jspecify.annotations.Nullable;

/**
 * Takes memory from a pool of the driver, within the limit, and enters it in the books.
 *
 * <p><b>Exhaustion.</b> Frees that are still queued hold memory. So when the driver has none left, the device is
 * synchronized, what the driver did not take back is offered to it again, and it is asked once more.
 *
 * <p><b>The limit.</b> The driver extends a pool in steps of its granularity. What the pool holds is compared with the
 * limit after each extension, and given back at once if it is too much; if the driver does not take that one block
 * back, nothing is allocated until it does. The limit is rounded up to a multiple of the granularity, as a smaller one
 * could never be kept. Under a limit one thread allocates at a time.
 */
final class PoolSource {
    private final CudaDevice device;
    private final CudaDriver driver;
    private final CudaPools pools;
    private final int ordinal;
    private final long pool;
    private final long ownStream;
    private final Limit limit;
    private final Budget budget;
    private final BlockLedger<CudaSyncStream> blocks;
    private final Object limitLock = new Object();

    private volatile long lastBytesHeld;

    /** The most that the pool held under a limit. Guarded by the lock of the limit, as what follows. */
    private long peakWithinLimit;

    /** What the budget of the device is charged with: what the pool held when it was asked last under a limit. */
    private long charged;

    /** The budget's numbers when it rejected the latest allocation; {@code null} if it did not. */
    private Budget.@Nullable Status rejection;

    PoolSource(CudaDevice device, PoolHandles handles, Limit limit, BlockLedger<CudaSyncStream> blocks) {
        AllocatorEvents.prepare();
        this.device = device;
        pool = handles.pool();
        ownStream = handles.stream();
        this.limit = limit;
        this.blocks = blocks;
        budget = Budget.ofMemory(device.defaultMemory());
        driver = device.driver();
        pools = driver.pools();
        ordinal = device.ordinal();
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
     * Takes a block, ordered on a stream, and enters it.
     *
     * @param stream in use by the caller; {@code null} for the pool's own, which is waited for
     * @throws CudaException if the driver fails for another reason than lack of memory
     * @throws OutOfMemoryException if limit or device have not enough memory
     */
    long allocate(long byteSize, @Nullable CudaSyncStream stream, boolean isReserve) {
        return isLimited()
                ? allocateWithinLimit(byteSize, stream, isReserve)
                : allocateOrRetry(byteSize, stream, isReserve, false);
    }

    /** Returns whether a limit, or that of the device, is checked after each allocation. */
    boolean isLimited() {
        return limit.isLimited() || budget.isLimited();
    }

    private long allocateOrRetry(long byteSize, @Nullable CudaSyncStream stream, boolean isReserve, boolean isChecked) {
        try {
            return allocateOnce(byteSize, stream, isReserve, isChecked);
        } catch (CudaException e) {
            if (!e.isOutOfMemory()) {
                throw e;
            }
            if (byteSize > device.info().totalByteSize()) {
                throw outOfMemory("The device is not that large", byteSize, e);
            }
        }
        blocks.returnAgain();
        final String hindrance = synchronizeDevice();
        try {
            return allocateOnce(byteSize, stream, isReserve, isChecked);
        } catch (CudaException e) {
            throw e.isOutOfMemory() ? outOfMemory("The device has no memory left, " + hindrance, byteSize, e) : e;
        }
    }

    /** Takes and enters a block; returns {@code 0} if the pool would then hold more than the limit. */
    private long allocateOnce(long byteSize, @Nullable CudaSyncStream stream, boolean isReserve, boolean isChecked) {
        blocks.begin();
        long taken = 0;
        long address = 0;
        try {
            taken = pools.memAllocFromPoolAsync(ordinal, pool, byteSize, handle(stream));
            if (stream == null) {
                device.synchronizeStream(ownStream);
            }
            if (!isChecked || isWithinLimit()) {
                address = taken;
            }
        } finally {
            if (address == taken) {
                blocks.end(address, byteSize, stream, isReserve);
            } else {
                blocks.rollBack(taken, byteSize, stream);
            }
        }
        return address;
    }

    private boolean isWithinLimit() {
        final long held = bytesHeld();
        if (limit.available(held) < 0 || !isCharged(held)) {
            return false;
        }
        // The driver's own high-water mark also counts what was taken and given back at once.
        peakWithinLimit = Math.max(peakWithinLimit, held);
        return true;
    }

    /** Charges the budget of the device with what the pool holds; returns whether the budget grants it. */
    private boolean isCharged(long held) {
        if (held > charged) {
            rejection = budget.charge(held - charged);
            if (rejection != null) {
                return false;
            }
        } else {
            budget.release(charged - held);
        }
        charged = held;
        return true;
    }

    /** Charges the budget of the device no more than the pool holds. */
    void settle(long held) {
        synchronized (limitLock) {
            if (held < charged) {
                isCharged(held);
            }
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

    private long allocateWithinLimit(long byteSize, @Nullable CudaSyncStream stream, boolean isReserve) {
        synchronized (limitLock) {
            if (byteSize > limit.available(blocks.bytesInUse())) {
                throw outOfMemory("The limit of arena.max_mem is reached", byteSize, null);
            }
            rejection = null;
            long address = tryWithinLimit(byteSize, stream, isReserve);
            if (address == 0) {
                blocks.returnAgain();
                synchronizeDevice();
                trim();
                address = tryWithinLimit(byteSize, stream, isReserve);
            }
            if (address == 0 && rejection != null) {
                blocks.failed();
                throw budget.outOfMemory(rejection, device.defaultMemory(), byteSize, "");
            }
            if (address == 0) {
                throw outOfMemory(
                        "The limit of arena.max_mem is reached, as free memory is fragmented", byteSize, null);
            }
            return address;
        }
    }

    /** Allocates; returns {@code 0} if the pool would then hold more than the limit. */
    private long tryWithinLimit(long byteSize, @Nullable CudaSyncStream stream, boolean isReserve) {
        final long held = bytesHeld();
        final long left = Math.min(limit.available(held), leftInBudget(held));
        final boolean mayExtend = byteSize <= left;
        if (left < 0 || (!mayExtend && byteSize > held - attribute(PoolAttribute.USED_MEM_CURRENT))) {
            return 0;
        }
        final long address;
        try {
            address = allocateOrRetry(byteSize, stream, isReserve, true);
        } catch (Throwable e) {
            trimAfterFailure(stream);
            throw e;
        }
        if (address == 0) {
            trim(handle(stream));
        }
        return address;
    }

    /** Returns how much more than it holds the device's budget lets the pool hold, and notes why it is not more. */
    private long leftInBudget(long held) {
        final Budget.Status status = budget.status();
        final long left = charged + status.available() - held;
        if (left < limit.available(held)) {
            rejection = status;
        }
        return status.limit() == Budget.UNLIMITED ? Long.MAX_VALUE : left;
    }

    /** Returns what was given back on a stream just now to the device, if that is possible: the failure counts. */
    private void trimAfterFailure(@Nullable CudaSyncStream stream) {
        try {
            trim(handle(stream));
        } catch (Throwable e) {
            // The next trim returns it.
        }
    }

    /** Returns what was freed on a stream just now to the device. */
    private void trim(long stream) {
        DriverCalls.insist(() -> device.synchronizeStream(stream));
        DriverCalls.insist(this::trim);
    }

    private void trim() {
        pools.memPoolTrimTo(ordinal, pool, 0);
        device.checks().hostWaited();
        settle(bytesHeld());
    }

    /**
     * Returns free memory to the device, with the event of it.
     *
     * @param bytesToKeep what stays in the pool at least, if it holds as much
     * @param before the bytes that it holds
     * @return the bytes that it holds afterwards
     */
    long shrinkTo(long bytesToKeep, long before, DriverCalls.All calls) {
        final DeviceCall call = AllocatorEvents.shrinking(device.defaultMemory(), DevicePart.POOL, 0);
        final boolean isTrimmed = calls.attempt(() -> pools.memPoolTrimTo(ordinal, pool, bytesToKeep));
        final long after = isTrimmed ? bytesHeld() : before;
        settle(after);
        call.measured(Math.max(0, before - after));
        call.end(isTrimmed, 0);
        return after;
    }

    /** Bytes that the pool holds. */
    long bytesHeld() {
        final long held = attribute(PoolAttribute.RESERVED_MEM_CURRENT);
        lastBytesHeld = held;
        return held;
    }

    /** Bytes that the pool held when the driver was asked last. */
    long lastBytesHeld() {
        return lastBytesHeld;
    }

    /** Bytes that the pool holds. Under a limit, waits for an allocation that may yet be found too much. */
    long settledBytesHeld() {
        if (!isLimited()) {
            return bytesHeld();
        }
        synchronized (limitLock) {
            return bytesHeld();
        }
    }

    /** The most that the pool held, as far as the driver knows it apart from what the limit rejected. */
    long peakBytesHeld(long heldNow) {
        if (!isLimited()) {
            return attribute(PoolAttribute.RESERVED_MEM_HIGH);
        }
        synchronized (limitLock) {
            peakWithinLimit = Math.max(peakWithinLimit, heldNow);
            return peakWithinLimit;
        }
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
