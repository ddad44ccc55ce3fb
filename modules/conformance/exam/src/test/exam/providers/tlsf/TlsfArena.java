package exam.tlsf;

import allocator.spi.AllocatorStats;
import allocator.spi.InvalidSizeException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import allocator.spi.ShrinkableAllocator;

import java.util.ArrayList;
import java.util.List;

/** An arena: regions of host memory, divided into blocks that are found through segregated lists. */
final class TlsfArena extends HostAllocator implements ShrinkableAllocator {
    static final long GRANULE = 256;

    private final FreeIndex free = new FreeIndex();
    private Region regions;
    private int regionCount;
    private int regionsReturned;
    private long nextRegion;
    private long splits;
    /** A block made before it is needed, so that a split takes no heap. */
    private Block spare;

    TlsfArena(Settings settings) {
        super(Factory.MAIN, settings, settings.effectiveInArena());
        nextRegion = settings.firstRegion();
    }

    @Override
    public int spiLevel() {
        return 25;
    }

    @Override
    public synchronized long alloc(long byteSize) {
        requireOpen();
        requireSize(byteSize);
        if (byteSize == 0) {
            return 0;
        }
        final long rounded = round(byteSize);
        table.ensureRoom();
        if (spare == null) {
            spare = new Block();
        }
        Block block = free.find(rounded);
        if (block == null) {
            extend(byteSize, rounded);
            block = free.find(rounded);
        }
        free.remove(block);
        if (isWorthSplitting(block, rounded)) {
            split(block, rounded);
        }
        block.region.live++;
        enter(block, byteSize);
        return block.address;
    }

    private static long round(long byteSize) {
        if (byteSize > Long.MAX_VALUE - (GRANULE - 1)) {
            throw InvalidSizeException.overflow(byteSize, GRANULE);
        }
        return (byteSize + GRANULE - 1) / GRANULE * GRANULE;
    }

    private boolean isWorthSplitting(Block block, long rounded) {
        final long left = block.byteSize - rounded;
        return left >= rounded || left >= settings.maxDead();
    }

    /** Leaves the end of a block free. Takes no heap: the spare block is there. */
    private void split(Block block, long byteSize) {
        final Block rest = spare;
        spare = null;
        rest.region = block.region;
        rest.address = block.address + byteSize;
        rest.byteSize = block.byteSize - byteSize;
        rest.before = block;
        rest.after = block.after;
        if (rest.after != null) {
            rest.after.before = rest;
        }
        block.after = rest;
        block.byteSize = byteSize;
        free.insert(rest);
        splits++;
    }

    /** Takes a region that has room for a request. */
    private void extend(long byteSize, long rounded) {
        final long room = settings.room(held);
        if (rounded > room) {
            throw exhausted("the limit is reached", byteSize, rounded);
        }
        long grown = nextRegion;
        while (settings.isDoubling() && grown < rounded) {
            grown = grown > Long.MAX_VALUE / 2 ? rounded : grown * 2;
        }
        final long wanted = settings.isDoubling() ? grown : rounded;
        final long fitting = Math.min(wanted, Math.min(room, HostPool.available())) / GRANULE * GRANULE;
        final Region region = new Region();
        final Block block = new Block();
        if (!HostPool.take(region.span, Math.max(fitting, rounded), GRANULE)
                && !HostPool.take(region.span, rounded, GRANULE)) {
            throw exhausted("the host has no more memory", byteSize, rounded);
        }
        if (settings.isDoubling()) {
            nextRegion = grown > nextRegion ? grown : Math.min(settings.largestRegion(), doubled(grown));
        }
        block.region = region;
        block.address = region.span.address();
        block.byteSize = region.span.byteSize;
        region.first = block;
        region.isFirst = regions == null && regionsReturned == 0;
        region.next = regions;
        regions = region;
        regionCount++;
        addHeld(block.byteSize);
        free.insert(block);
    }

    private static long doubled(long byteSize) {
        return byteSize > Long.MAX_VALUE / 2 ? byteSize : byteSize * 2;
    }

    @Override
    void freeInRegion(Block block) {
        leave(block);
        block.region.live--;
        Block merged = block;
        if (block.after != null && !block.after.isLive()) {
            free.remove(block.after);
            join(block, block.after);
        }
        if (block.before != null && !block.before.isLive()) {
            merged = block.before;
            free.remove(merged);
            join(merged, block);
        }
        free.insert(merged);
    }

    private static void join(Block block, Block next) {
        block.byteSize += next.byteSize;
        block.after = next.after;
        if (block.after != null) {
            block.after.before = block;
        }
    }

    @Override
    public synchronized ShrinkReport shrink() {
        requireOpen();
        final long before = held;
        final int countBefore = regionCount;
        Region previous = null;
        Region region = regions;
        while (region != null) {
            final Region next = region.next;
            if (region.live == 0 && !(region.isFirst && settings.keepsFirst())) {
                giveRegion(region, previous);
            } else {
                previous = region;
            }
            region = next;
        }
        nextRegion = settings.regionAfterShrink();
        return report(before - held, countBefore - regionCount);
    }

    private void giveRegion(Region region, Region previous) {
        HostPool.give(region.span);
        free.remove(region.first);
        if (previous == null) {
            regions = region.next;
        } else {
            previous.next = region.next;
        }
        regionCount--;
        regionsReturned++;
        held -= region.span.byteSize;
    }

    private ShrinkReport report(long released, int regionsReleased) {
        int liveRegions = 0;
        int freeRegions = 0;
        long liveBytes = 0;
        long keptBytes = 0;
        for (Region region = regions; region != null; region = region.next) {
            if (region.live == 0) {
                freeRegions++;
                keptBytes += region.span.byteSize;
            } else {
                liveRegions++;
                liveBytes += region.span.byteSize;
            }
        }
        final List<Held> reasons = new ArrayList<>();
        if (liveRegions > 0) {
            reasons.add(new Held(liveBytes, liveRegions, "regions with live blocks"));
        }
        if (freeRegions > 0) {
            reasons.add(new Held(keptBytes, freeRegions, "the first region; tlsf.keep_first_region=0 returns it"));
        }
        final long reserved = held - liveBytes - keptBytes;
        if (reserved > 0) {
            reasons.add(new Held(reserved, 0, "live reserves"));
        }
        return new ShrinkReport(released, regionsReleased, held, liveRegions, freeRegions, reasons);
    }

    @Override
    long largestFree() {
        return free.largest();
    }

    @Override
    void addOwnStats(AllocatorStats.Builder builder) {
        builder.free(free.bytes, free.largest())
                .regions(regionCount, regionsReturned)
                .counter("TlsfSplits", splits, AllocatorStats.Unit.COUNT, true)
                .counter("TlsfFreeBlocks", free.blocks, AllocatorStats.Unit.COUNT, false);
    }

    @Override
    void giveRegions() {
        while (regions != null) {
            HostPool.give(regions.span);
            regions = regions.next;
        }
    }
}
