package com.example.buddy;

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
import java.util.Set;

/** Offers the host's memory through buddy allocators, a new one for each caller. */
public final class BuddyFactory implements EpFactory {
    static final OptionKey<Long> MAX_MEM =
            OptionKey.bytes("arena.max_mem", 256L << 20, "the most that is taken from the C library");

    private static final List<OptionKey<?>> KEYS = List.of(MAX_MEM);
    private static final MemoryInfo MEMORY = new MemoryInfo(
            "Buddy",
            new MemoryLocation(DeviceType.CPU, 0, 0, MemoryType.DEFAULT),
            BuddyAllocator.SMALLEST,
            AllocatorType.DEVICE);

    private final Set<Allocator> open = Collections.newSetFromMap(new IdentityHashMap<>());
    private boolean isClosed;

    /** Made by the service loader; touches nothing. */
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
        final BuddyAllocator allocator = new BuddyAllocator(MEMORY, options.get(MAX_MEM), options.resolve(KEYS));
        open.add(allocator);
        return allocator;
    }

    @Override
    public void releaseAllocator(Allocator allocator) {
        synchronized (this) {
            if (!open.remove(allocator)) {
                throw new UnknownAllocatorException("this factory has no open allocator like that");
            }
        }
        ((BuddyAllocator) allocator).close();
    }

    @Override
    public synchronized void close() {
        if (!open.isEmpty()) {
            throw new IllegalStateException(open.size() + " allocators are still out");
        }
        isClosed = true;
    }
}
