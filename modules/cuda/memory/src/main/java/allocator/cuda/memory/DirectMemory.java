package allocator.cuda.memory;

import allocator.cuda.driver.CudaException;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SpiLevel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Every block straight from the driver: what an arena draws from, and what serves memory that is taken once and kept.
 *
 * <p>The driver's free may wait for the device, but nothing says that it does. So before memory goes back, all work of
 * the device is waited for: no queued work ever meets memory that another process may have got by then (K-03).
 *
 * <p>Calls to the driver are made outside the lock. What is live is counted after memory is taken and before it is
 * given back, so that an address that comes again at once finds no old entry.
 */
abstract sealed class DirectMemory implements CudaAllocator permits DeviceMemory, PinnedMemory {
    private final CudaDevice device;
    private final MemoryInfo info;
    private final UseGuard guard = new UseGuard();
    private final Object lock = new Object();
    private final TreeMap<Long, Long> liveSizes = new TreeMap<>();

    /** Freed, but the driver did not take it back; freeing it once more, or the close, tries again. */
    private final TreeMap<Long, Long> unreturnedSizes = new TreeMap<>();

    private long bytesInUse;
    private long bytesHeld;
    private long peakBytesHeld;
    private long peakBytesInUse;
    private long maxAllocSize;
    private long numAllocs;
    private long numReserves;
    private long numFailedAllocs;

    DirectMemory(CudaDevice device, MemoryInfo info) {
        this.device = device;
        this.info = info;
    }

    /** Takes a block; may throw {@link CudaException}. */
    abstract long take(long byteSize);

    /** Gives a block back, with no work on it; may throw {@link CudaException}. */
    abstract void giveBack(long address);

    final CudaDevice device() {
        return device;
    }

    @Override
    public final long alloc(long byteSize) {
        return alloc(byteSize, 0);
    }

    @Override
    public final long reserve(long byteSize) {
        return alloc(byteSize, 1);
    }

    private long alloc(long byteSize, int reserves) {
        enter();
        try {
            if (byteSize <= 0 || byteSize > OptionKey.MAX_SIZE) {
                return requireEmpty(byteSize);
            }
            final long address = take(byteSize);
            synchronized (lock) {
                liveSizes.put(address, byteSize);
                bytesInUse += byteSize;
                bytesHeld += byteSize;
                peakBytesInUse = Math.max(peakBytesInUse, bytesInUse);
                peakBytesHeld = Math.max(peakBytesHeld, bytesHeld);
                maxAllocSize = Math.max(maxAllocSize, byteSize);
                numAllocs++;
                numReserves += reserves;
            }
            return address;
        } catch (CudaException e) {
            if (e.isOutOfMemory()) {
                synchronized (lock) {
                    numFailedAllocs++;
                }
            }
            throw DriverCalls.refusal(e, device, info, byteSize);
        } finally {
            guard.exit();
        }
    }

    /** Zero is the empty allocation; other sizes that come here are not accepted. */
    static long requireEmpty(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > 0) {
            throw InvalidSizeException.overflow(byteSize, OptionKey.SIZE_GRANULARITY);
        }
        return 0;
    }

    @Override
    public final void free(long address) {
        if (address == 0) {
            return;
        }
        enter();
        try {
            final long byteSize = forget(address);
            final DriverCalls.All calls = new DriverCalls.All();
            calls.insist(() -> device.driver().devices().ctxSynchronize(device.ordinal()));
            final boolean isReturned = calls.insist(() -> giveBack(address));
            synchronized (lock) {
                if (isReturned) {
                    bytesHeld -= byteSize;
                } else {
                    unreturnedSizes.put(address, byteSize);
                }
            }
            calls.throwIfFailed();
        } finally {
            guard.exit();
        }
    }

    /** Takes a block out of the tables, before the driver can hand its address out again. Returns its size. */
    private long forget(long address) {
        synchronized (lock) {
            final Long live = liveSizes.remove(address);
            if (live != null) {
                bytesInUse -= live;
                return live;
            }
            final Long unreturned = unreturnedSizes.remove(address);
            if (unreturned == null) {
                throw invalidFree(address);
            }
            return unreturned;
        }
    }

    private RuntimeException invalidFree(long address) {
        final Map.Entry<Long, Long> below = liveSizes.lowerEntry(address);
        if (below != null && address - below.getKey() < below.getValue()) {
            final long offset = address - below.getKey();
            return new InteriorAddressException(
                    address, offset + " bytes into the block at 0x" + Long.toHexString(below.getKey()));
        }
        return new ForeignAddressException(address, "not a live block of " + info);
    }

    @Override
    public final MemoryInfo info() {
        return info;
    }

    @Override
    public final int spiLevel() {
        return SpiLevel.STREAMS;
    }

    @Override
    public final AllocatorStats stats() {
        enter();
        try {
            synchronized (lock) {
                return new AllocatorStats.Builder()
                        .inUse(bytesInUse, bytesInUse, peakBytesInUse)
                        .free(bytesHeld - bytesInUse, 0)
                        .held(bytesHeld, peakBytesHeld)
                        .calls(numAllocs, numReserves, numFailedAllocs, maxAllocSize)
                        .build();
            }
        } finally {
            guard.exit();
        }
    }

    private void enter() {
        if (!guard.tryEnter()) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
    }

    @Override
    public final void destroy() {
        if (!guard.close()) {
            return;
        }
        final List<Long> addresses = new ArrayList<>();
        synchronized (lock) {
            addresses.addAll(liveSizes.keySet());
            addresses.addAll(unreturnedSizes.keySet());
        }
        if (addresses.isEmpty()) {
            return;
        }
        final DriverCalls.All calls = new DriverCalls.All();
        calls.insist(() -> device.driver().devices().ctxSynchronize(device.ordinal()));
        addresses.forEach(address -> calls.insist(() -> giveBack(address)));
        calls.throwIfFailed();
    }

    @Override
    public final String toString() {
        return "the allocator of " + info;
    }
}
