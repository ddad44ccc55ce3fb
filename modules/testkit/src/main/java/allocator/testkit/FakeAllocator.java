package allocator.testkit;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.ForeignAddressException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * An allocator of made-up addresses, which differ from those of every other {@code FakeAllocator}. It holds 100 bytes
 * more with each allocation, until it is {@linkplain Full#shrink shrunk}. Once closed, each call fails as the contract
 * says.
 *
 * <p>Its hook sees the name of each method that is called, except {@code info} and {@code spiLevel}.
 */
public class FakeAllocator implements Allocator {
    private static final AtomicLong NEXT_ADDRESS = new AtomicLong(1L << 20);

    private final Map<Long, Long> live = new ConcurrentHashMap<>();
    private final Map<String, AtomicInteger> calls = new ConcurrentHashMap<>();
    private final AtomicLong inUse = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();
    private final AtomicLong slack = new AtomicLong();
    private volatile Consumer<String> before = Faults.NONE;
    private volatile Consumer<String> log = line -> {};
    private volatile boolean isClosed;
    private volatile long limit = Long.MAX_VALUE;
    private volatile int spiLevel = SpiLevel.CURRENT;
    private volatile MemoryInfo info;
    private volatile AllocatorOptions effectiveOptions = AllocatorOptions.EMPTY;

    /** Creates an allocator without a limit. */
    public FakeAllocator(MemoryInfo info) {
        this.info = info;
    }

    /** Sets the hook, which is called with the name of each operation. */
    public final FakeAllocator before(Consumer<String> hook) {
        before = hook;
        return this;
    }

    /**
     * Sets where a line for each allocation and each free goes: {@code alloc 100}, {@code alloc 100 on 2}, {@code free
     * 100}; the number of a stream is its handle. Failed allocations have a line too.
     */
    public final FakeAllocator log(Consumer<String> lines) {
        log = lines;
        return this;
    }

    /** Sets the most bytes in use at one time. */
    public final FakeAllocator limit(long byteSize) {
        limit = byteSize;
        return this;
    }

    /** Sets what {@link #spiLevel()} returns from now on. */
    public final FakeAllocator spiLevel(int level) {
        spiLevel = level;
        return this;
    }

    /** Sets what {@link #info()} returns from now on. */
    public final FakeAllocator info(MemoryInfo memory) {
        info = memory;
        return this;
    }

    /** Sets what {@link #effectiveOptions()} returns from now on. */
    public final FakeAllocator effectiveOptions(AllocatorOptions options) {
        effectiveOptions = options;
        return this;
    }

    /** Closes the allocator, whether or not blocks are live. */
    public final void close() {
        isClosed = true;
    }

    public final boolean isClosed() {
        return isClosed;
    }

    /** Returns a view of the requested sizes of live blocks by address. */
    public final Map<Long, Long> live() {
        return Collections.unmodifiableMap(live);
    }

    /**
     * Returns how often a method, named as the hook sees it, was called: the calls that the hook let pass, without
     * those that failed because the allocator was closed.
     */
    public final int calls(String operation) {
        final AtomicInteger count = calls.get(operation);
        return count == null ? 0 : count.get();
    }

    private void enter(String operation) {
        before.accept(operation);
        if (isClosed) {
            throw new AllocatorClosedException(operation + " on the released " + info);
        }
        count(operation);
    }

    private void count(String operation) {
        calls.computeIfAbsent(operation, ignored -> new AtomicInteger()).incrementAndGet();
    }

    private long allocate(long byteSize, String line) {
        log.accept(line);
        final long now = inUse.addAndGet(byteSize);
        if (now > limit) {
            inUse.addAndGet(-byteSize);
            throw new OutOfMemoryException(
                    "limit reached",
                    new Shortage(
                            info,
                            byteSize,
                            byteSize,
                            limit,
                            now - byteSize,
                            OutOfMemoryException.UNKNOWN,
                            OutOfMemoryException.UNKNOWN,
                            OutOfMemoryException.UNKNOWN));
        }
        peak.accumulateAndGet(now, Math::max);
        final long address = NEXT_ADDRESS.getAndAdd(Math.max(256, byteSize));
        live.put(address, byteSize);
        slack.addAndGet(100);
        return address;
    }

    @Override
    public long alloc(long byteSize) {
        enter("alloc");
        return allocate(byteSize, "alloc " + byteSize);
    }

    @Override
    public long reserve(long byteSize) {
        enter("reserve");
        return allocate(byteSize, "reserve " + byteSize);
    }

    @Override
    public void free(long address) {
        enter("free");
        final Long byteSize = live.remove(address);
        if (byteSize == null) {
            throw new ForeignAddressException(address, "not of " + info);
        }
        inUse.addAndGet(-byteSize);
        log.accept("free " + byteSize);
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return spiLevel;
    }

    @Override
    public AllocatorStats stats() {
        enter("stats");
        return new AllocatorStats.Builder()
                .inUse(inUse.get(), inUse.get(), peak.get())
                .held(inUse.get() + slack.get(), peak.get() + slack.get())
                .calls(calls("alloc") + calls("allocOnStream") + calls("reserve"), calls("reserve"), 0, 0)
                .build();
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        before.accept("effectiveOptions");
        count("effectiveOptions");
        return effectiveOptions;
    }

    /** A {@code FakeAllocator} that is aware of streams and can shrink. */
    public static class Full extends FakeAllocator implements StreamAwareAllocator, ShrinkableAllocator {
        private volatile SyncStream lastStream;
        private volatile boolean isOrderedByDevice;

        /** Creates an allocator without a limit. */
        public Full(MemoryInfo info) {
            super(info);
        }

        /** Sets what {@link #isOrderedByDevice()} returns from now on. */
        public final Full orderedByDevice(boolean value) {
            isOrderedByDevice = value;
            return this;
        }

        /** Returns the stream of the last {@link #allocOnStream}; {@code null} before the first such call. */
        public final SyncStream lastStream() {
            return lastStream;
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            super.enter("allocOnStream");
            lastStream = stream;
            return super.allocate(byteSize, "alloc " + byteSize + " on " + stream.handle());
        }

        @Override
        public boolean isOrderedByDevice() {
            super.before.accept("isOrderedByDevice");
            super.count("isOrderedByDevice");
            return isOrderedByDevice;
        }

        @Override
        public ShrinkReport shrink() {
            super.enter("shrink");
            final long released = super.slack.getAndSet(0);
            final long held = super.inUse.get();
            return new ShrinkReport(released, released == 0 ? 0 : 1, held, held == 0 ? 0 : 1, 0);
        }
    }
}
