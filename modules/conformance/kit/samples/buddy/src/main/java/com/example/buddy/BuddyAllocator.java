package com.example.buddy;

import allocator.provider.support.BlockCounters;
import allocator.provider.support.Limit;
import allocator.provider.support.internal.Sizes;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A buddy allocator. Blocks are powers of two and lie at multiples of their size within a region; a block that is freed
 * joins its buddy, the other half of the block that both were cut from, when that is free as well. One lock guards all.
 */
final class BuddyAllocator implements HostAccessibleAllocator {
    /** The smallest block, and the alignment of all. */
    static final long SMALLEST = 256;

    /** The level of the contract that this class was written for. */
    private static final int LEVEL = 25;

    private static final long REGION = 1 << 20;

    /** Memory taken from the JDK; larger requests get regions of their own. */
    private record Region(Arena lifetime, long address, long byteSize) {}

    /** A live block. */
    private record Block(Region region, long byteSize, long requested) {}

    private final MemoryInfo info;
    private final Limit limit;
    private final AllocatorOptions options;
    private final TreeMap<Long, Region> regions = new TreeMap<>();
    private final TreeMap<Long, Block> live = new TreeMap<>();
    private final Map<Long, TreeSet<Long>> freeBySize = new HashMap<>();
    private final BlockCounters counters = new BlockCounters();
    private boolean isClosed;
    private long held;
    private long free;
    private long peakHeld;
    private long splits;

    BuddyAllocator(MemoryInfo info, Limit limit, AllocatorOptions options) {
        this.info = info;
        this.limit = limit;
        this.options = options;
    }

    @Override
    public synchronized long alloc(long byteSize) {
        requireOpen();
        final long size = roundUp(byteSize);
        if (size == 0) {
            return 0;
        }
        final long address = size > REGION ? region(byteSize, size) : small(byteSize, size);
        live.put(address, new Block(regions.floorEntry(address).getValue(), size, byteSize));
        counters.allocated(size, byteSize);
        return address;
    }

    @Override
    public synchronized long reserve(long byteSize) {
        final long address = alloc(byteSize);
        if (address != 0) {
            counters.reserved();
        }
        return address;
    }

    /** A power of two up to a region's size; beyond, what was asked for, in whole smallest blocks. */
    private static long roundUp(long byteSize) {
        final long whole = Sizes.roundUp(byteSize, SMALLEST);
        return whole == 0 || whole > REGION ? whole : Long.highestOneBit(2 * whole - 1);
    }

    private long small(long byteSize, long size) {
        for (long candidate = size; candidate <= REGION; candidate *= 2) {
            final TreeSet<Long> blocks = freeOf(candidate);
            if (!blocks.isEmpty()) {
                free -= candidate;
                return cut(blocks.removeFirst(), candidate, size);
            }
        }
        // A region of the usual size; where the limit has no room for one, a region for this block alone.
        final long regionSize = REGION <= limit.available(held) ? REGION : size;
        return cut(region(byteSize, regionSize), regionSize, size);
    }

    /** Halves a block until it has the size; the second halves become free. */
    private long cut(long address, long from, long size) {
        for (long half = from / 2; half >= size; half /= 2) {
            freeOf(half).add(address + half);
            free += half;
            splits++;
        }
        return address;
    }

    private TreeSet<Long> freeOf(long size) {
        return freeBySize.computeIfAbsent(size, any -> new TreeSet<>());
    }

    private long region(long byteSize, long size) {
        if (size > limit.available(held)) {
            giveBackFreeRegions();
        }
        if (size > limit.available(held)) {
            throw exhausted(byteSize, size);
        }
        final Arena lifetime = Arena.ofShared();
        try {
            final long address = lifetime.allocate(size, SMALLEST).address();
            regions.put(address, new Region(lifetime, address, size));
            held += size;
            peakHeld = Math.max(peakHeld, held);
            return address;
        } catch (OutOfMemoryError e) {
            lifetime.close();
            throw exhausted(byteSize, size);
        }
    }

    private OutOfMemoryException exhausted(long byteSize, long size) {
        counters.failed();
        return new OutOfMemoryException(
                "no room for another block",
                new Shortage(
                        info,
                        byteSize,
                        size,
                        limit.toStats(),
                        counters.bytesInUse(),
                        held,
                        largestFree(),
                        OutOfMemoryException.UNKNOWN));
    }

    private void giveBackFreeRegions() {
        for (final Region region : List.copyOf(regions.values())) {
            if (freeOf(region.byteSize()).remove(region.address())) {
                free -= region.byteSize();
                giveBack(region);
            }
        }
    }

    private void giveBack(Region region) {
        regions.remove(region.address());
        held -= region.byteSize();
        region.lifetime().close();
    }

    @Override
    public synchronized void free(long address) {
        requireOpen();
        if (address == 0) {
            return;
        }
        final Block block = live.remove(address);
        if (block == null) {
            throw invalidFree(address);
        }
        counters.freed(block.byteSize(), block.requested());
        if (block.byteSize() > REGION) {
            giveBack(block.region());
        } else {
            join(address, block.byteSize(), block.region());
        }
    }

    /** Joins a free block with its buddy, and the two with theirs, as far as they are free. */
    private void join(long freed, long freedSize, Region region) {
        long address = freed;
        long size = freedSize;
        free += freedSize;
        while (size < region.byteSize()) {
            final long buddy = region.address() + ((address - region.address()) ^ size);
            if (!freeOf(size).remove(buddy)) {
                break;
            }
            address = Math.min(address, buddy);
            size *= 2;
        }
        freeOf(size).add(address);
    }

    private InvalidFreeException invalidFree(long address) {
        final Map.Entry<Long, Block> below = live.lowerEntry(address);
        if (below != null && address < below.getKey() + below.getValue().byteSize()) {
            return new InteriorAddressException(address, "it lies inside a live block");
        }
        final Map.Entry<Long, Region> region = regions.floorEntry(address);
        if (region != null && address < region.getKey() + region.getValue().byteSize()) {
            return new DoubleFreeException(address, "no block is live there");
        }
        return new ForeignAddressException(address, "it was not handed out here");
    }

    private long largestFree() {
        return freeBySize.entrySet().stream()
                .filter(entry -> !entry.getValue().isEmpty())
                .mapToLong(Map.Entry::getKey)
                .max()
                .orElse(0);
    }

    @Override
    public synchronized MemorySegment segment(long address, long byteSize) {
        requireOpen();
        if (byteSize < 0 || (address == 0 && byteSize > 0)) {
            throw new InvalidSizeException(byteSize, "is not the size of a segment there");
        }
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public int spiLevel() {
        return LEVEL;
    }

    @Override
    public synchronized AllocatorStats stats() {
        requireOpen();
        return counters.toStats()
                .limit(limit.toStats())
                .held(held, peakHeld)
                .free(free, largestFree())
                .counter("NumSplits", splits, AllocatorStats.Unit.COUNT, true)
                .build();
    }

    @Override
    public AllocatorOptions effectiveOptions() {
        return options;
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the buddy allocator is closed");
        }
    }

    synchronized void close() {
        isClosed = true;
        new ArrayList<>(regions.values()).forEach(this::giveBack);
    }
}
