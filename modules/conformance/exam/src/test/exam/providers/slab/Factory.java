package exam.slab;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
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
import allocator.spi.UnknownAllocatorException;
import allocator.spi.UnsupportedMemoryException;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Serves host memory from slabs; each caller gets an allocator of its own. */
public final class Factory implements EpFactory {
    private static final MemoryInfo HOST = new MemoryInfo(
            "ExamSlab", new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT), 64, AllocatorType.DEVICE);

    private final DeviceDiscovery discovery = DeviceDiscovery.of(
            EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "host processor", Map.of()))
                    .memory(HOST)
                    .build());
    private final Set<SlabAllocator> open = Collections.newSetFromMap(new IdentityHashMap<>());
    private boolean isClosed;

    /** Makes the factory, which touches nothing. */
    public Factory() {}

    @Override
    public String name() {
        return "exam-slab";
    }

    @Override
    public String vendor() {
        return "Exam";
    }

    @Override
    public String version() {
        return "1.0";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return discovery;
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return SlabAllocator.KEYS;
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        Objects.requireNonNull(info, "info");
        Objects.requireNonNull(options, "options");
        if (isClosed) {
            throw new AllocatorClosedException(name() + " is closed");
        }
        if (!info.equals(HOST)) {
            throw new UnsupportedMemoryException(name() + " does not serve " + info);
        }
        options.requireValid(SlabAllocator.KEYS);
        final SlabAllocator allocator = new SlabAllocator(info, options);
        open.add(allocator);
        return allocator;
    }

    @Override
    public synchronized void releaseAllocator(Allocator allocator) {
        Objects.requireNonNull(allocator, "allocator");
        if (!(allocator instanceof SlabAllocator mine) || !open.remove(mine)) {
            throw new UnknownAllocatorException("not an open allocator of " + name() + ": " + allocator);
        }
        mine.close();
    }

    @Override
    public synchronized void close() {
        if (!open.isEmpty()) {
            throw new IllegalStateException(name() + " has " + open.size() + " open allocators");
        }
        isClosed = true;
    }
}
