package exam.pass;

import allocator.provider.support.BlockLedger;
import allocator.provider.support.Limit;
import allocator.provider.support.internal.Sizes;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Takes each block from the heap of the C library and returns it there. One lock makes the limit exact. */
final class PassAllocator implements HostAccessibleAllocator {
    private static final int LEVEL = 25;

    private final MemoryInfo info;
    private final AllocatorOptions effective;
    private final Limit limit;
    private final BlockLedger<Void> ledger;
    private boolean isClosed;

    PassAllocator(MemoryInfo info, AllocatorOptions options, List<OptionKey<?>> keys) {
        this.info = info;
        effective = options.resolve(info.isReadOnly() ? List.of(Limit.KEY) : keys);
        limit = Limit.from(options);
        ledger = BlockLedger.of(info, (address, byteSize) -> Heap.free(address));
        Heap.prepare(info.byteAlignment());
    }

    @Override
    public long alloc(long byteSize) {
        return allocate(byteSize, false);
    }

    @Override
    public long reserve(long byteSize) {
        return allocate(byteSize, true);
    }

    private long allocate(long byteSize, boolean isReserve) {
        synchronized (this) {
            requireOpen();
            Sizes.roundUp(byteSize, info.byteAlignment());
            if (byteSize == 0) {
                return 0;
            }
            final AllocatorStats before = ledger.stats();
            if (byteSize > limit.available(before.bytesHeld())) {
                final OutOfMemoryException failure = exhausted("the limit is reached", byteSize, before);
                ledger.failed();
                throw failure;
            }
            final long address =
                    isReserve ? ledger.reserve(byteSize, this::take) : ledger.allocate(byteSize, this::take);
            if (address == 0) {
                throw exhausted("the C library has no more memory", byteSize, before);
            }
            return address;
        }
    }

    private long take(long byteSize) {
        return Heap.allocate(info.byteAlignment(), Sizes.roundUp(byteSize, info.byteAlignment()));
    }

    private OutOfMemoryException exhausted(String reason, long byteSize, AllocatorStats stats) {
        return new OutOfMemoryException(
                reason,
                new OutOfMemoryException.Shortage(
                        info,
                        byteSize,
                        byteSize,
                        limit.toStats(),
                        stats.bytesInUse(),
                        stats.bytesHeld(),
                        0,
                        OutOfMemoryException.UNKNOWN));
    }

    @Override
    public void free(long address) {
        synchronized (this) {
            requireOpen();
            if (address != 0) {
                ledger.free(address);
            }
        }
    }

    @Override
    public AllocatorStats stats() {
        synchronized (this) {
            requireOpen();
            final AllocatorStats stats = ledger.stats();
            return new AllocatorStats.Builder()
                    .limit(limit.toStats())
                    .inUse(stats.bytesInUse(), stats.requestedBytesInUse(), stats.peakBytesInUse())
                    .held(stats.bytesHeld(), stats.peakBytesHeld())
                    .free(stats.freeBytes(), 0)
                    .calls(stats.numAllocs(), stats.numReserves(), stats.numFailedAllocs(), stats.maxAllocSize())
                    .build();
        }
    }

    @Override
    public synchronized MemorySegment segment(long address, long byteSize) {
        requireOpen();
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (address == 0 && byteSize != 0) {
            throw new InvalidSizeException(byteSize, "is not the size of the empty allocation");
        }
        return Heap.segment(address, byteSize);
    }

    /** Returns every block to the C library. Another call returns what is left. */
    void close() {
        synchronized (this) {
            isClosed = true;
            ledger.returnAll();
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the allocator of " + info + " is closed");
        }
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return LEVEL;
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return effective;
    }
}
