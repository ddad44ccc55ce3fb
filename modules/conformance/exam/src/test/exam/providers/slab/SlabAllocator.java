package exam.slab;

import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DoubleFreeException;
import allocator.spi.ForeignAddressException;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.InteriorAddressException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Host memory in slabs: small blocks are slots of a slab of their size class, larger ones and reserves have a mapping
 * of exactly their size. One lock guards everything.
 */
final class SlabAllocator implements HostAccessibleAllocator, ShrinkableAllocator {
    static final OptionKey<Long> MAX_MEM =
            OptionKey.bytes("arena.max_mem", 0, "the most that the allocator may hold; 0 is no limit");
    static final OptionKey<Long> SLAB_BYTES =
            OptionKey.size("slab.region_bytes", 256 << 10, 16 << 20, "the size of a slab");
    static final List<OptionKey<?>> KEYS = List.of(MAX_MEM, SLAB_BYTES);

    private static final int LEVEL = 25;

    private final MemoryInfo info;
    private final AllocatorOptions effective;
    private final long limit;
    private final long slabBytes;

    /** Everything held, by first address. */
    private final TreeMap<Long, Region> regions = new TreeMap<>();

    /** For each class the first slab that has a free slot. */
    private final Slab[] available = new Slab[Slab.classes()];

    private boolean isClosed;
    private long bytesInUse;
    private long requestedInUse;
    private long bytesHeld;
    private long peakInUse;
    private long peakHeld;
    private long maxAllocSize;
    private long numAllocs;
    private long numReserves;
    private long numFailed;
    private int numSlabs;
    private long numShrinkages;

    /** A large block; its region has exactly the requested size. */
    private static final class Large extends Region {
        Large(long byteSize) {
            super(byteSize);
        }
    }

    SlabAllocator(MemoryInfo info, AllocatorOptions options) {
        this.info = info;
        effective = options.resolve(KEYS);
        limit = options.get(MAX_MEM);
        slabBytes = options.get(SLAB_BYTES);
        Pages.prepare();
    }

    @Override
    public long alloc(long byteSize) {
        synchronized (this) {
            requireOpen();
            requireSize(byteSize);
            if (byteSize == 0) {
                return 0;
            }
            final int index = Slab.classOf(byteSize);
            if (index >= 0 && Slab.slotBytesOf(index) <= slabBytes) {
                final Slab slab = slabWithRoom(index);
                if (slab != null) {
                    return takeSlot(slab, (int) byteSize);
                }
            }
            return takeLarge(byteSize);
        }
    }

    @Override
    public long reserve(long byteSize) {
        synchronized (this) {
            requireOpen();
            requireSize(byteSize);
            if (byteSize == 0) {
                return 0;
            }
            final long address = takeLarge(byteSize);
            numReserves++;
            return address;
        }
    }

    private Slab slabWithRoom(int index) {
        if (available[index] != null) {
            return available[index];
        }
        final Slab slab = new Slab(index, slabBytes);
        if (!obtain(slab)) {
            return null;
        }
        numSlabs++;
        list(slab);
        return slab;
    }

    private long takeSlot(Slab slab, int byteSize) {
        final long address = slab.take(byteSize);
        if (slab.isFull()) {
            unlist(slab);
        }
        countAllocated(slab.slotBytes, byteSize);
        return address;
    }

    private long takeLarge(long byteSize) {
        final Large block = new Large(byteSize);
        if (!obtain(block)) {
            final OutOfMemoryException failure = exhausted(byteSize);
            numFailed++;
            throw failure;
        }
        countAllocated(byteSize, byteSize);
        return block.base;
    }

    /** Takes the memory of a region from the host, if need be after a return of empty slabs. */
    private boolean obtain(Region region) {
        if (!isWithinLimit(region.byteSize)) {
            releaseEmptySlabs();
            if (!isWithinLimit(region.byteSize)) {
                return false;
            }
        }
        long address = Pages.map(region.byteSize);
        if (address == 0 && releaseEmptySlabs() > 0) {
            address = Pages.map(region.byteSize);
        }
        if (address == 0) {
            return false;
        }
        boolean isEntered = false;
        try {
            region.base = address;
            regions.put(address, region);
            isEntered = true;
        } finally {
            if (!isEntered) {
                Pages.unmap(address, region.byteSize);
            }
        }
        bytesHeld += region.byteSize;
        peakHeld = Math.max(peakHeld, bytesHeld);
        return true;
    }

    private boolean isWithinLimit(long byteSize) {
        return limit == 0 || byteSize <= limit - bytesHeld;
    }

    private void countAllocated(long byteSize, long requested) {
        bytesInUse += byteSize;
        requestedInUse += requested;
        peakInUse = Math.max(peakInUse, bytesInUse);
        maxAllocSize = Math.max(maxAllocSize, byteSize);
        numAllocs++;
    }

    private OutOfMemoryException exhausted(long byteSize) {
        final boolean isLimited = !isWithinLimit(byteSize);
        return new OutOfMemoryException(
                isLimited ? "the limit is reached" : "the host has no more memory",
                new OutOfMemoryException.Shortage(
                        info,
                        byteSize,
                        byteSize,
                        limit == 0 ? AllocatorStats.UNLIMITED : limit,
                        bytesInUse,
                        bytesHeld,
                        largestFreeSlot(),
                        OutOfMemoryException.UNKNOWN));
    }

    @Override
    public void free(long address) {
        synchronized (this) {
            requireOpen();
            if (address == 0) {
                return;
            }
            final Map.Entry<Long, Region> entry = regions.floorEntry(address);
            if (entry == null || !entry.getValue().contains(address)) {
                throw new ForeignAddressException(address, "not memory of this allocator");
            }
            if (entry.getValue() instanceof Slab slab) {
                freeSlot(slab, address);
            } else {
                freeLarge(entry.getValue(), address);
            }
        }
    }

    private void freeSlot(Slab slab, long address) {
        final int slot = slab.slotOf(address);
        if (slab.isLive(slot) && !slab.isStart(address)) {
            throw new InteriorAddressException(address, "inside a live block");
        }
        if (!slab.isLive(slot) && slab.isStart(address) && slab.wasFreed(slot)) {
            throw new DoubleFreeException(address, "the block was freed before");
        }
        if (!slab.isLive(slot)) {
            throw new ForeignAddressException(address, "no live block");
        }
        requestedInUse -= slab.give(slot);
        bytesInUse -= slab.slotBytes;
        if (!slab.isListed) {
            list(slab);
        }
    }

    private void freeLarge(Region block, long address) {
        if (address != block.base) {
            throw new InteriorAddressException(address, "inside a live block");
        }
        regions.remove(address);
        Pages.unmap(block.base, block.byteSize);
        bytesInUse -= block.byteSize;
        requestedInUse -= block.byteSize;
        bytesHeld -= block.byteSize;
    }

    private void list(Slab slab) {
        slab.previous = null;
        slab.next = available[slab.index];
        if (slab.next != null) {
            slab.next.previous = slab;
        }
        available[slab.index] = slab;
        slab.isListed = true;
    }

    private void unlist(Slab slab) {
        if (slab.previous == null) {
            available[slab.index] = slab.next;
        } else {
            slab.previous.next = slab.next;
        }
        if (slab.next != null) {
            slab.next.previous = slab.previous;
        }
        slab.previous = null;
        slab.next = null;
        slab.isListed = false;
    }

    /** Returns the slabs without a live block to the host; the result is their number. */
    private int releaseEmptySlabs() {
        int released = 0;
        final Iterator<Region> all = regions.values().iterator();
        while (all.hasNext()) {
            if (all.next() instanceof Slab slab && slab.live == 0) {
                all.remove();
                unlist(slab);
                Pages.unmap(slab.base, slab.byteSize);
                bytesHeld -= slab.byteSize;
                numSlabs--;
                numShrinkages++;
                released++;
            }
        }
        return released;
    }

    @Override
    public ShrinkReport shrink() {
        synchronized (this) {
            requireOpen();
            final long before = bytesHeld;
            final int released = releaseEmptySlabs();
            return new ShrinkReport(before - bytesHeld, released, bytesHeld, numSlabs, 0);
        }
    }

    private long largestFreeSlot() {
        for (int index = available.length - 1; index >= 0; index--) {
            if (available[index] != null) {
                return Slab.slotBytesOf(index);
            }
        }
        return 0;
    }

    @Override
    public synchronized AllocatorStats stats() {
        requireOpen();
        return new AllocatorStats.Builder()
                .limit(limit == 0 ? AllocatorStats.UNLIMITED : limit)
                .inUse(bytesInUse, requestedInUse, peakInUse)
                .held(bytesHeld, peakHeld)
                .free(bytesHeld - bytesInUse, largestFreeSlot())
                .calls(numAllocs, numReserves, numFailed, maxAllocSize)
                .regions(numSlabs, numShrinkages)
                .build();
    }

    @Override
    public synchronized MemorySegment segment(long address, long byteSize) {
        requireOpen();
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (address == 0 && byteSize != 0) {
            throw new InvalidSizeException(byteSize, "is not the size of the empty allocation");
        }
        return Pages.segment(address, byteSize);
    }

    /** Returns everything to the host. A second call does nothing. */
    synchronized void close() {
        isClosed = true;
        final Iterator<Region> all = regions.values().iterator();
        while (all.hasNext()) {
            final Region region = all.next();
            all.remove();
            Pages.unmap(region.base, region.byteSize);
        }
    }

    private void requireOpen() {
        if (isClosed) {
            throw new AllocatorClosedException("the allocator of exam-slab is closed");
        }
    }

    private static void requireSize(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > Long.MAX_VALUE - Pages.PAGE_BYTES + 1) {
            throw InvalidSizeException.overflow(byteSize, Pages.PAGE_BYTES);
        }
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
    public AllocatorOptions effectiveOptions() {
        return effective;
    }
}
