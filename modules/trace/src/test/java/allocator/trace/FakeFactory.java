package allocator.trace;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncNotification;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A provider of addresses without memory behind them, on a device with streams, that notes what is asked of it. */
final class FakeFactory implements EpFactory {
    static final OptionKey<Long> MAX_MEM = OptionKey.bytes("arena.max_mem", Long.MAX_VALUE, "the limit");

    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Fake", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    /** One line for each call: {@code alloc}, {@code alloc on} and the order of the stream, {@code free}. */
    final List<String> calls = new ArrayList<>();

    final List<FakeAllocator> allocators = new ArrayList<>();

    /** The allocation, counted over all allocators, at which the device fails; none if negative. */
    int failingAllocation = -1;

    /** Whether calls are noted; that costs objects. */
    boolean isNoting = true;

    private long firstStreamId = -1;

    @Override
    public String name() {
        return "Fake";
    }

    @Override
    public String vendor() {
        return "tests";
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.GPU, 0, 0, "no hardware", Map.of()))
                .memory(MEMORY)
                .build());
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return List.of(OptionKey.EXCLUSIVE, MAX_MEM);
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        final FakeAllocator allocator = new FakeAllocator(options.resolve(optionKeys()), options.get(MAX_MEM));
        allocators.add(allocator);
        return allocator;
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        if (!((FakeAllocator) allocator).live.isEmpty()) {
            throw new AssertionError("released with live blocks: " + ((FakeAllocator) allocator).live);
        }
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return true;
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        return new FakeStream();
    }

    private void note(String call) {
        if (isNoting) {
            calls.add(call);
        }
    }

    /** Hands out rising addresses; holds what is live, and 1000 bytes until it is shrunk. */
    final class FakeAllocator implements StreamAwareAllocator, ShrinkableAllocator {
        final Map<Long, Long> live = new TreeMap<>();
        private final AllocatorOptions options;
        private final long limit;
        private long spare = 1000;
        private long next = 256;
        private long inUse;
        private long peak;
        private int allocations;
        boolean isOrderedByDevice;

        private FakeAllocator(AllocatorOptions options, long limit) {
            this.options = options;
            this.limit = limit;
        }

        @Override
        public long alloc(long byteSize) {
            note("alloc " + byteSize);
            return allocate(byteSize);
        }

        @Override
        public long allocOnStream(long byteSize, SyncStream stream) {
            if (firstStreamId < 0) {
                firstStreamId = stream.id();
            }
            if (isNoting) {
                note("alloc " + byteSize + " on " + (stream.id() - firstStreamId));
            }
            return allocate(byteSize);
        }

        @Override
        public boolean isOrderedByDevice() {
            return isOrderedByDevice;
        }

        private long allocate(long byteSize) {
            if (allocations++ == failingAllocation) {
                throw new DeviceException("the fake device is broken", null);
            }
            if (byteSize > limit - inUse) {
                throw new OutOfMemoryException(
                        "no more", OutOfMemoryException.Shortage.ofDevice(MEMORY, byteSize, limit - inUse));
            }
            final long address = next;
            inUse += byteSize;
            peak = Math.max(peak, inUse);
            if (isNoting) {
                next += 256;
                live.put(address, byteSize);
            }
            return address;
        }

        @Override
        public void free(long address) {
            if (isNoting) {
                final Long byteSize = live.remove(address);
                if (byteSize == null) {
                    throw new AssertionError("not live: " + address);
                }
                note("free " + byteSize);
                inUse -= byteSize;
            } else {
                inUse = 0;
            }
        }

        @Override
        public ShrinkReport shrink() {
            final long released = spare;
            spare = 0;
            return new ShrinkReport(released, 1, inUse, 0, 0);
        }

        @Override
        public AllocatorStats stats() {
            return new AllocatorStats.Builder()
                    .inUse(inUse, inUse, peak)
                    .held(inUse + spare, peak + 1000)
                    .build();
        }

        @Override
        public AllocatorOptions effectiveOptions() {
            return options;
        }

        @Override
        public MemoryInfo info() {
            return MEMORY;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.CURRENT;
        }
    }

    /** A stream on which everything is done at once. */
    private static final class FakeStream extends SyncStream {
        FakeStream() {
            super(MEMORY);
        }

        @Override
        public long handle() {
            return 0;
        }

        @Override
        public SyncNotification createNotification() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {}

        @Override
        public void onSessionRunEnd() {}

        @Override
        public void close() {}
    }
}
