package allocator.onnxruntime;

import allocator.onnxruntime.support.SystemMemory;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Allocates from the C library with an optional limit, and records live blocks and calling threads. */
class HeapAllocator implements Allocator {
    private record Block(long base, long byteSize) {}

    private final Map<Long, Block> live = new ConcurrentHashMap<>();
    private final Set<Thread> allocating = ConcurrentHashMap.newKeySet();
    private final Set<Thread> freeing = ConcurrentHashMap.newKeySet();
    private final AtomicLong inUse = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();
    private final AtomicLong allocations = new AtomicLong();
    private volatile long limit = Long.MAX_VALUE;

    void setLimit(long bytes) {
        limit = bytes;
    }

    int liveBlocks() {
        return live.size();
    }

    /** The threads that have called {@link #alloc}. */
    Set<Thread> allocatingThreads() {
        return allocating;
    }

    /** The threads that have called {@link #free}. */
    Set<Thread> freeingThreads() {
        return freeing;
    }

    @Override
    public long alloc(long byteSize) {
        allocating.add(Thread.currentThread());
        final long now = inUse.addAndGet(byteSize);
        if (now > limit) {
            inUse.addAndGet(-byteSize);
            throw new OutOfMemoryException(
                    "the test's limit is reached",
                    new Shortage(
                            info(),
                            byteSize,
                            byteSize,
                            limit,
                            now - byteSize,
                            OutOfMemoryException.UNKNOWN,
                            OutOfMemoryException.UNKNOWN,
                            OutOfMemoryException.UNKNOWN));
        }
        peak.accumulateAndGet(now, Math::max);
        allocations.incrementAndGet();
        final long base = SystemMemory.allocate(byteSize + 64);
        final long address = (base + 63) & -64;
        live.put(address, new Block(base, byteSize));
        return address;
    }

    @Override
    public void free(long address) throws InvalidFreeException {
        freeing.add(Thread.currentThread());
        final Block block = live.remove(address);
        if (block == null) {
            throw new ForeignAddressException(address, "not live in the test's allocator");
        }
        SystemMemory.free(block.base);
        inUse.addAndGet(-block.byteSize);
    }

    @Override
    public MemoryInfo info() {
        return NativeEnvironment.CPU;
    }

    @Override
    public int spiLevel() {
        return SpiLevel.CURRENT;
    }

    @Override
    public AllocatorStats stats() {
        return new AllocatorStats.Builder()
                .inUse(inUse.get(), inUse.get(), peak.get())
                .held(inUse.get(), peak.get())
                .calls(allocations.get(), 0, 0, 0)
                .build();
    }
}
