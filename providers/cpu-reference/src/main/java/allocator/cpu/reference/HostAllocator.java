package allocator.cpu.reference;

import allocator.provider.support.BlockLedger;
import allocator.provider.support.Sizes;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;

/**
 * Takes each block from the host's C library: upstream of the arenas, and the allocator of read-only memory.
 *
 * <p>Simple rather than fast: one lock is held during each call. An arena above it makes few and large requests.
 */
final class HostAllocator implements CpuAllocator {
    private final MemoryInfo info;
    private final Object lock = new Object();
    private final BlockLedger ledger;
    private boolean isClosed;

    HostAllocator(MemoryInfo info) {
        this.info = info;
        ledger = new BlockLedger(info);
    }

    @Override
    public long alloc(long byteSize) {
        synchronized (lock) {
            final long address = take(byteSize);
            if (address != 0) {
                ledger.allocated(address, byteSize);
            }
            return address;
        }
    }

    @Override
    public long reserve(long byteSize) {
        synchronized (lock) {
            final long address = take(byteSize);
            if (address != 0) {
                ledger.reserved(address, byteSize);
            }
            return address;
        }
    }

    /** Returns {@code 0} for a size of zero. Under the lock. */
    private long take(long byteSize) {
        requireOpen();
        final long roundedSize = roundUp(byteSize);
        if (roundedSize == 0) {
            return 0;
        }
        final long address = HostHeap.allocate(info.byteAlignment(), roundedSize);
        if (address == 0) {
            ledger.failed();
            throw new OutOfMemoryException(
                    "The system has no " + byteSize + " bytes",
                    Shortage.ofDevice(info, byteSize, OutOfMemoryException.UNKNOWN));
        }
        return address;
    }

    /** {@code aligned_alloc} requires a multiple of the alignment. */
    private long roundUp(long byteSize) {
        return Sizes.roundUp(byteSize, info.byteAlignment());
    }

    @Override
    public void free(long address) {
        if (address == 0) {
            return;
        }
        synchronized (lock) {
            requireOpen();
            giveBack(address, ledger.remove(address));
        }
    }

    private void giveBack(long address, long byteSize) {
        HostHeap.free(address, roundUp(byteSize));
        ledger.returned(byteSize);
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
            return ledger.stats();
        }
    }

    @Override
    public void destroy() {
        synchronized (lock) {
            isClosed = true;
            ledger.drain().forEach(block -> giveBack(block.address(), block.byteSize()));
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
    }
}
