package allocator.bench.gpu;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ServiceLoader;

/** A provider's first device. */
record SpiProvider(EpFactory factory, MemoryInfo memory) implements Provider {
    /** @throws IllegalStateException if there is no such provider, or it has no device */
    static SpiProvider open(String name) {
        for (EpFactory factory : ServiceLoader.load(EpFactory.class)) {
            if (factory.name().equals(name)) {
                final DeviceDiscovery discovery = factory.discoverDevices();
                if (discovery.devices().isEmpty()) {
                    throw new IllegalStateException(name + " has no device: " + discovery.notes());
                }
                return new SpiProvider(
                        factory, discovery.devices().getFirst().defaultMemory().orElseThrow());
            }
        }
        throw new IllegalStateException("no provider is called " + name);
    }

    @Override
    public StreamAwareAllocator allocator(AllocatorOptions options) {
        return (StreamAwareAllocator)
                factory.createAllocator(memory, options.with(OptionKey.EXCLUSIVE.name(), "1", "benchmark"));
    }

    @Override
    public void release(Allocator allocator) {
        factory.releaseAllocator(allocator);
    }

    @Override
    public SyncStream stream() {
        return factory.createSyncStream(memory);
    }

    @Override
    public void close() {
        factory.close();
    }
}
