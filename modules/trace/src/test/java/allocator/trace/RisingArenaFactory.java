package allocator.trace;

import allocator.arena.ArenaAllocator;
import allocator.arena.ArenaConfig;
import allocator.arena.ArenaOptions;
import allocator.arena.BfcArena;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.SpiLevel;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A provider of arenas over a device whose addresses rise from one allocation to the next, with no memory behind. */
final class RisingArenaFactory implements EpFactory {
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Rising",
            new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT),
            OptionKey.SIZE_GRANULARITY,
            AllocatorType.DEVICE);

    private static final List<OptionKey<?>> KEYS = Stream.<OptionKey<?>>concat(
                    Stream.of(OptionKey.EXCLUSIVE), ArenaOptions.KEYS.stream())
            .toList();

    @Override
    public String name() {
        return "Rising";
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
        return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "no hardware", Map.of()))
                .memory(MEMORY)
                .build());
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return KEYS;
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        return new ArenaAllocator(
                new BfcArena(new RisingAddresses(), ArenaConfig.from(options)), options.resolve(KEYS));
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        ((ArenaAllocator) allocator).close();
    }

    /** Never gives an address twice, and never runs out in a test. */
    private static final class RisingAddresses implements Allocator {
        private long next = 1L << 32;

        @Override
        public long alloc(long byteSize) {
            final long address = next;
            next += (byteSize + OptionKey.SIZE_GRANULARITY) / OptionKey.SIZE_GRANULARITY * OptionKey.SIZE_GRANULARITY;
            return address;
        }

        @Override
        public void free(long address) {}

        @Override
        public MemoryInfo info() {
            return MEMORY;
        }

        @Override
        public int spiLevel() {
            return SpiLevel.CURRENT;
        }
    }
}
