package com.example.buddy;

import allocator.provider.support.Limit;
import allocator.provider.support.References;
import allocator.provider.support.References.Release;
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
import java.util.List;
import java.util.Map;

/** Offers the host's memory through buddy allocators, a new one for each caller. */
public final class BuddyFactory implements EpFactory {
    static final OptionKey<Long> MAX_MEM =
            OptionKey.bytes("arena.max_mem", 256L << 20, "the most that regions may come to; 0 is no limit");

    private static final List<OptionKey<?>> KEYS = List.of(MAX_MEM);
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Buddy",
            new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT),
            BuddyAllocator.SMALLEST,
            AllocatorType.DEVICE);

    private final References<BuddyAllocator> references = new References<>();
    private boolean isClosed;

    /** Created by the service loader; touches nothing. */
    public BuddyFactory() {}

    @Override
    public String name() {
        return "buddy";
    }

    @Override
    public String vendor() {
        return "Example Inc.";
    }

    @Override
    public String version() {
        return "1.0";
    }

    @Override
    public DeviceDiscovery discoverDevices() {
        return DeviceDiscovery.of(EpDevice.on(new HardwareDevice(DeviceType.CPU, 0, 0, "host", Map.of()))
                .memory(MEMORY)
                .build());
    }

    @Override
    public List<OptionKey<?>> optionKeys() {
        return KEYS;
    }

    @Override
    public synchronized Allocator createAllocator(MemoryInfo info, AllocatorOptions options) {
        if (isClosed) {
            throw new AllocatorClosedException("the factory is closed");
        }
        if (!info.equals(MEMORY)) {
            throw new UnsupportedMemoryException("buddy serves " + MEMORY + ", not " + info);
        }
        options.requireValid(KEYS);
        return references.acquireExclusive(
                () -> new BuddyAllocator(MEMORY, new Limit(options.get(MAX_MEM)), options.resolve(KEYS)));
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        if (references.release(allocator) == Release.UNKNOWN) {
            throw new UnknownAllocatorException("this factory has no open reference to " + allocator);
        }
        ((BuddyAllocator) allocator).close();
    }

    @Override
    public synchronized void close() {
        if (references.count() > 0) {
            throw new IllegalStateException(references.count() + " allocators are not released");
        }
        isClosed = true;
    }
}
