package allocator.testkit;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Optional;

/** A provider that passes every call on to another one, for subclasses that change some of them. */
public class ForwardingFactory implements EpFactory {
    private final EpFactory factory;

    public ForwardingFactory(EpFactory factory) {
        this.factory = factory;
    }

    @Override
    public String name() {
        return factory.name();
    }

    @Override
    public int priority() {
        return factory.priority();
    }

    @Override
    public String vendor() {
        return factory.vendor();
    }

    @Override
    public String version() {
        return factory.version();
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return factory.discoverDevices();
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return factory.optionKeys();
    }

    @Override
    public Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        return factory.createAllocator(info, options);
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        factory.releaseAllocator(allocator);
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return factory.isStreamAware(info);
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        return factory.createSyncStream(info);
    }

    @Override
    public SyncStream viewSyncStream(MemoryInfo info, long handle) {
        return factory.viewSyncStream(info, handle);
    }

    @Override
    public Optional<DataTransfer> dataTransfer() {
        return factory.dataTransfer();
    }

    @Override
    public void close() {
        factory.close();
    }
}
