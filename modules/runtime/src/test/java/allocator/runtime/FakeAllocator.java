package allocator.runtime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** An allocator of made-up addresses that counts what is called. After its end every use fails the contract's way. */
class FakeAllocator implements Allocator {
    private static final AtomicLong NEXT_ADDRESS = new AtomicLong(1L << 20);

    final Map<Long, Long> live = new ConcurrentHashMap<>();
    final AtomicLong allocs = new AtomicLong();
    final AtomicLong frees = new AtomicLong();
    final AtomicLong reserves = new AtomicLong();
    final AtomicLong streamAllocs = new AtomicLong();
    final AtomicLong shrinks = new AtomicLong();
    final AtomicLong statsCalls = new AtomicLong();

    /** Runs before each call, and may throw. */
    volatile Consumer<String> before = operation -> {};

    volatile boolean isEnded;
    volatile long limit = Long.MAX_VALUE;
    final AtomicLong slack = new AtomicLong();
    int level = SpiLevel.CURRENT;
    MemoryInfo info;
    AllocatorOptions effective = AllocatorOptions.EMPTY;

    FakeAllocator(MemoryInfo info) {
        this.info = info;
    }

    private void enter(String operation) {
        before.accept(operation);
        if (isEnded) {
            throw new AllocatorClosedException(operation + " on the released " + info);
        }
    }

    private long take(long byteSize) {
        if (byteSize > limit) {
            throw new OutOfMemoryException(
                    "limit reached", OutOfMemoryException.Shortage.ofDevice(info, byteSize, limit));
        }
        final long address = NEXT_ADDRESS.getAndAdd(Math.max(256, byteSize));
        live.put(address, byteSize);
        slack.addAndGet(100);
        return address;
    }

    @Override
    public long alloc(long byteSize) {
        enter("alloc");
        allocs.incrementAndGet();
        return take(byteSize);
    }

    @Override
    public long reserve(long byteSize) {
        enter("reserve");
        reserves.incrementAndGet();
        return take(byteSize);
    }

    @Override
    public void free(long address) {
        enter("free");
        if (live.remove(address) == null) {
            throw new ForeignAddressException(address, "not of " + info);
        }
        frees.incrementAndGet();
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return level;
    }

    @Override
    public AllocatorStats stats() {
        enter("stats");
        statsCalls.incrementAndGet();
        final long inUse = live.values().stream().mapToLong(Long::longValue).sum();
        return new AllocatorStats.Builder()
                .inUse(inUse, inUse, inUse)
                .held(inUse + slack.get(), inUse + slack.get())
                .calls(allocs.get() + reserves.get(), reserves.get(), 0, 0)
                .build();
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        enter("effectiveOptions");
        return effective;
    }

    /** With everything that an allocator can do. */
    static final class Full extends FakeAllocator implements StreamAwareAllocator, ShrinkableAllocator {
        volatile SyncStream lastStream;
        boolean isOrderedByDevice;

        Full(MemoryInfo info) {
            super(info);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            before.accept("allocOnStream");
            streamAllocs.incrementAndGet();
            lastStream = stream;
            final long address = alloc(byteSize);
            allocs.decrementAndGet();
            return address;
        }

        @Override
        public boolean isOrderedByDevice() {
            before.accept("isOrderedByDevice");
            return isOrderedByDevice;
        }

        @Override
        public ShrinkReport shrink() {
            before.accept("shrink");
            if (isEnded) {
                throw new AllocatorClosedException("shrink on the released " + info);
            }
            shrinks.incrementAndGet();
            final long released = slack.getAndSet(0);
            return new ShrinkReport(released, released == 0 ? 0 : 1, live.size(), live.isEmpty() ? 0 : 1, 0);
        }
    }
}
