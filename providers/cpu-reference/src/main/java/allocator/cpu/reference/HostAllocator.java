package allocator.cpu.reference;

import allocator.provider.support.BlockLedger;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.internal.Sizes;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.PagedReserves;
import allocator.spi.SpiLevel;
import org.jspecify.annotations.Nullable;

/**
 * Takes each block from the host's C library: upstream of the arenas, and the allocator of read-only memory.
 *
 * <p>Simple rather than fast: one lock is held during each call. An arena above it makes few and large requests.
 */
final class HostAllocator implements CpuAllocator, InspectableAllocator, PagedReserves, UnreturnedMemory {
    private final MemoryInfo info;
    private final Heap heap;
    private final @Nullable CopyLinks links;
    private final Object lock = new Object();
    private final BlockLedger<Void> ledger;

    /** The blocks with one copy; {@code null} before the first. Guarded by the lock. */
    private @Nullable SharedPages shared;

    private volatile long sharedBytes;
    private volatile boolean isClosed;

    HostAllocator(MemoryInfo info, Heap heap, @Nullable CopyLinks links) {
        this.info = info;
        this.heap = heap;
        this.links = links;
        ledger = BlockLedger.charging(info, this::giveBack);
        heap.prepare();
    }

    @Override
    public long alloc(long byteSize) {
        synchronized (lock) {
            return isEmpty(byteSize) ? 0 : requireTaken(byteSize, ledger.allocate(byteSize, this::take));
        }
    }

    @Override
    public long reserve(long byteSize) {
        synchronized (lock) {
            return isEmpty(byteSize) ? 0 : requireTaken(byteSize, ledger.reserve(byteSize, this::take));
        }
    }

    /** Returns whether nothing is to be allocated. Under the lock. */
    private boolean isEmpty(long byteSize) {
        requireOpen();
        return roundUp(byteSize) == 0;
    }

    private long take(long byteSize) {
        return heap.allocate(info.byteAlignment(), roundUp(byteSize));
    }

    private long requireTaken(long byteSize, long address) {
        if (address == 0) {
            throw new OutOfMemoryException(
                    "The system has no " + byteSize + " bytes: " + heap.shortage(roundUp(byteSize)),
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
            ledger.free(address);
        }
    }

    @Override
    public long unreturnedBytes() {
        return ledger.unreturnedBytes();
    }

    @Override
    public long returnAgain() {
        return ledger.returnAgain();
    }

    @Override
    public long share(long address) {
        synchronized (lock) {
            requireOpen();
            final long byteSize = ledger.sizeOfLive(address);
            if (byteSize < LEAST_BYTES) {
                return 0;
            }
            if (shared == null) {
                shared = heap.share(info, links);
            }
            final long before = sharedBytes;
            try {
                shared.share(address, byteSize);
            } finally {
                countShared(shared);
            }
            return sharedBytes - before;
        }
    }

    private void countShared(SharedPages pages) {
        sharedBytes = pages.savedBytes();
        ledger.share(sharedBytes);
    }

    @Override
    public long sharedBytes() {
        return sharedBytes;
    }

    private void giveBack(long address, long byteSize) {
        final SharedPages pages = shared;
        if (pages != null) {
            try {
                pages.leave(address);
            } finally {
                countShared(pages);
            }
        }
        heap.free(address, roundUp(byteSize));
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

    /** Takes no lock: the system is not waited for. */
    @Override
    public AllocatorSnapshot inspect() {
        requireOpen();
        return ledger.inspect();
    }

    @Override
    public boolean isClosed() {
        return isClosed;
    }

    @Override
    public void destroy() {
        synchronized (lock) {
            isClosed = true;
            ledger.returnAll();
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
    }
}
