package allocator.resource;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceDiscovery;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.HardwareDevice;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.SyncStream;
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** A provider whose allocators are stacks over a {@link HostResource} of their own, which keeps no statistics. */
final class HostResourceFactory implements EpFactory {
    private static final MemoryInfo MEMORY = new HostResource().memory();

    private final UnaryOperator<MemoryResource> stack;
    private final IdentityHashMap<Allocator, HostResource> open = new IdentityHashMap<>();
    private boolean isClosed;

    HostResourceFactory(UnaryOperator<MemoryResource> stack) {
        this.stack = stack;
    }

    @Override
    public String name() {
        return "host-resource";
    }

    @Override
    public String vendor() {
        return "test";
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "processor", Map.of()))
                .memory(MEMORY)
                .build());
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return List.of();
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        options.requireValid(optionKeys());
        requireOpen();
        requireServed(info);
        final HostResource host = new HostResource();
        final Allocator allocator = ResourceAllocator.of(stack.apply(host));
        open.put(allocator, host);
        return allocator;
    }

    private static void requireServed(MemoryInfo info) {
        if (!info.equals(MEMORY)) {
            throw new UnsupportedMemoryException("only " + MEMORY + " is served, not " + info);
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the factory is closed");
        }
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        final HostResource host = open.remove(allocator);
        if (host == null) {
            throw new UnknownAllocatorException(allocator + " is not of this factory, or released");
        }
        ((ResourceAllocator) allocator).close();
        host.close();
    }

    @Override
    public boolean isStreamAware(MemoryInfo info) {
        return false;
    }

    @Override
    public SyncStream createSyncStream(MemoryInfo info) {
        throw new UnsupportedMemoryException("there are no streams");
    }

    @Override
    public synchronized void close() {
        if (!open.isEmpty()) {
            throw new IllegalStateException(open.size() + " allocators are open");
        }
        isClosed = true;
    }
}
