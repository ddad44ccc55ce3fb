package allocator.conformance.subject;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import java.util.HashMap;
import java.util.Map;

/** A provider without options that hands out numbers as addresses: for tests of what the kit asks before its tests. */
final class PlainFactory implements EpFactory {
    static final MemoryInfo MEMORY = new MemoryInfo(
            "Plain", new MemoryLocation(DeviceType.GPU, 0, 0, MemoryType.DEFAULT), 256, AllocatorType.DEVICE);

    private final long capacity;
    private final boolean saysWhatIsFree;
    private final Map<Long, Long> live = new HashMap<>();
    private long used;
    private long allocs;
    private int references;

    /**
     * Makes a provider.
     *
     * @param saysWhatIsFree whether a shortage has the true figure, or 0
     */
    PlainFactory(long capacity, boolean saysWhatIsFree) {
        this.capacity = capacity;
        this.saysWhatIsFree = saysWhatIsFree;
    }

    /** Returns whether nothing is live and each create has its release. */
    boolean isLeft() {
        return live.isEmpty() && references == 0;
    }

    @Override
    public String name() {
        return "plain";
    }

    @Override
    public String vendor() {
        return "The conformance kit's tests";
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.GPU, 0, 0, "plain device", Map.of()))
                .memory(MEMORY)
                .build());
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        references++;
        return new PlainAllocator();
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        references--;
    }

    /** Counts what is live. */
    private final class PlainAllocator implements Allocator {
        @Override
        public long alloc(long byteSize) {
            if (byteSize > capacity - used) {
                throw new OutOfMemoryException(
                        "full", Shortage.ofDevice(MEMORY, byteSize, saysWhatIsFree ? capacity - used : 0));
            }
            used += byteSize;
            allocs++;
            live.put(allocs << 8, byteSize);
            return allocs << 8;
        }

        @Override
        public void free(long address) {
            used -= live.remove(address);
        }

        @Override
        public MemoryInfo info() {
            return MEMORY;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.CURRENT;
        }

        @Override
        public AllocatorStats stats() {
            return new AllocatorStats.Builder()
                    .inUse(used, used, capacity)
                    .held(used, capacity)
                    .build();
        }
    }
}
