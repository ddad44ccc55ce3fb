package allocator.cpu.reference;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.util.Map;
import java.util.TreeMap;

/**
 * Every block straight from the host: what an arena draws from, and what read-only memory is served by.
 *
 * <p>Slow and obvious. A map of the live blocks makes bad frees and statistics exact; an arena above asks for few and
 * large blocks, so that nobody notices.
 */
final class HostAllocator implements CpuAllocator {
    private final MemoryInfo info;
    private final Object lock = new Object();
    private final TreeMap<Long, Long> liveSizes = new TreeMap<>();
    private boolean closed;
    private long bytesInUse;
    private long peakBytesInUse;
    private long maxAllocSize;
    private long numAllocs;
    private long numReserves;
    private long numFailedAllocs;

    HostAllocator(MemoryInfo info) {
        this.info = info;
    }

    @Override
    public long alloc(long byteSize) {
        synchronized (lock) {
            requireOpen();
            return take(byteSize);
        }
    }

    @Override
    public long reserve(long byteSize) {
        synchronized (lock) {
            requireOpen();
            final long address = take(byteSize);
            if (address != 0) {
                numReserves++;
            }
            return address;
        }
    }

    private long take(long byteSize) {
        final long roundedSize = roundUp(byteSize);
        if (roundedSize == 0) {
            return 0;
        }
        final long address = HostMemory.allocate(info.byteAlignment(), roundedSize);
        if (address == 0) {
            numFailedAllocs++;
            throw new OutOfMemoryException(
                    "The system has no " + byteSize + " bytes",
                    Shortage.ofDevice(info, byteSize, OutOfMemoryException.UNKNOWN));
        }
        liveSizes.put(address, byteSize);
        bytesInUse += byteSize;
        peakBytesInUse = Math.max(peakBytesInUse, bytesInUse);
        maxAllocSize = Math.max(maxAllocSize, byteSize);
        numAllocs++;
        return address;
    }

    /** What is taken for a block: {@code aligned_alloc} wants a multiple of the alignment. */
    private long roundUp(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        final long mask = info.byteAlignment() - 1;
        if (byteSize > Long.MAX_VALUE - mask) {
            throw InvalidSizeException.overflow(byteSize, info.byteAlignment());
        }
        return (byteSize + mask) & ~mask;
    }

    @Override
    public void free(long address) {
        if (address == 0) {
            return;
        }
        synchronized (lock) {
            requireOpen();
            final Long byteSize = liveSizes.remove(address);
            if (byteSize == null) {
                throw refusal(address);
            }
            bytesInUse -= byteSize;
            HostMemory.free(address, roundUp(byteSize));
        }
    }

    private RuntimeException refusal(long address) {
        final Map.Entry<Long, Long> below = liveSizes.lowerEntry(address);
        if (below != null && address - below.getKey() < below.getValue()) {
            final long offset = address - below.getKey();
            return new InteriorAddressException(
                    address, offset + " bytes into the block at 0x" + Long.toHexString(below.getKey()));
        }
        return new ForeignAddressException(address, "not a live block of " + info);
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.STREAMS;
    }

    @Override
    public AllocatorStats stats() {
        synchronized (lock) {
            requireOpen();
            return new AllocatorStats.Builder()
                    .inUse(bytesInUse, bytesInUse, peakBytesInUse)
                    .held(bytesInUse, peakBytesInUse)
                    .calls(numAllocs, numReserves, numFailedAllocs, maxAllocSize)
                    .build();
        }
    }

    @Override
    public void destroy() {
        synchronized (lock) {
            closed = true;
            liveSizes.forEach((address, byteSize) -> HostMemory.free(address, roundUp(byteSize)));
            liveSizes.clear();
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
    }
}
