package allocator.arena;

import allocator.arena.chunk.BestFit;
import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Repair;
import allocator.arena.compact.BackedFit;
import allocator.arena.compact.ExtentSizes;
import allocator.arena.compact.LanePages;
import allocator.arena.compact.MappedRanges;
import allocator.arena.compact.PageTable;
import allocator.arena.compact.PagedLane;
import allocator.arena.page.PageSource;
import allocator.arena.upstream.Counters;
import allocator.arena.upstream.DeviceLock;
import allocator.arena.upstream.HeldLimit;
import allocator.provider.support.BriefLock;
import allocator.provider.support.Failures;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Pages that are mapped where chunks are in use: {@link LanePages}, connected to its lane. */
final class PageSupply implements LaneSupply {
    private final Lane lane;
    private final Lanes lanes;
    private final LanePages pages;
    private final MappedRanges mapped;

    /**
     * @param source provides the pages
     * @param table the table of the lane's pages
     * @param placement the lane's placement, backed by {@code table}
     */
    PageSupply(Lane lane, Lanes lanes, PageSource source, PageTable table, BackedFit placement) {
        this.lane = lane;
        this.lanes = lanes;
        mapped = new MappedRanges(table);
        pages = new LanePages(new Served(), source, sizes(lane.config.compact()), table, placement);
    }

    private static ExtentSizes sizes(CompactConfig config) {
        return new ExtentSizes(
                config.slackPercent() / 100.0,
                config.leastSlackPages(),
                config.extentDivisor(),
                config.leastExtentPages(),
                config.allocationsPerMove());
    }

    @Override
    public long allocate(long byteSize, @Nullable SyncStream stream) {
        return pages.allocate(byteSize, stream);
    }

    @Override
    public long allocateOfAll(long byteSize, @Nullable SyncStream stream) {
        return pages.allocateOfAll(byteSize, stream);
    }

    @Override
    public long changes() {
        return lane.locked(pages::changes);
    }

    @Override
    public long idleBytes() {
        return pages.idleBytes();
    }

    @Override
    public ShrinkReport shrink() {
        if (lanes.isInDevice()) {
            return report(0, 0);
        }
        synchronized (lanes.shrinkLock) {
            pages.awaitOwners();
            return releaseIdle();
        }
    }

    private ShrinkReport releaseIdle() {
        synchronized (lanes.deviceLock) {
            final long before = lane.locked(pages::heldBytes);
            final Failures failures = new Failures();
            final int released = pages.releaseIdle(failures);
            lane.compact();
            failures.throwIfAny();
            return report(before - lane.locked(pages::heldBytes), released);
        }
    }

    private ShrinkReport report(long released, int pagesReleased) {
        return lane.report().shrunk(released, pagesReleased, this::staying);
    }

    private List<Held> staying() {
        final long inUse = pages.heldBytes() - pages.idleBytes();
        return List.of(
                new Held(inUse, pages.extentsInUse(), "pages with live blocks"),
                new Held(
                        pages.idleBytes(),
                        pages.idleExtents(),
                        "pages that were used during the shrink, or that a stream may still use"));
    }

    @Override
    public Repair.Live repair() {
        return pages.repair();
    }

    @Override
    public Repair.Live unfinished() {
        return pages.unfinished();
    }

    @Override
    public long heldBytes(ConsistencyCheck check) {
        pages.check();
        return pages.heldBytes();
    }

    @Override
    public long nextRegionBytes() {
        return 0;
    }

    @Override
    public long largestFree() {
        return pages.largestFree();
    }

    @Override
    public long largestFree(@Nullable SyncStream stream) {
        return pages.largestFree();
    }

    @Override
    public boolean isBacked(long address) {
        return mapped.isMapped(address);
    }

    @Override
    public long pending(long address) {
        return mapped.pending(address);
    }

    @Override
    public long sameBacking(long address, long end) {
        return mapped.sameMapping(address, end);
    }

    @Override
    public List<AllocatorStats.Counter> ownCounters() {
        return pages.statistics();
    }

    @Override
    public void compact() {
        pages.compact();
    }

    @Override
    public void addOwners(Map<Long, SyncStream> owners) {
        pages.addOwners(owners);
    }

    @Override
    public void leave() {
        pages.leaveAll();
    }

    @Override
    public void giveBack(Failures failures) {
        pages.giveBack(failures);
    }

    /** The lane, as its pages see it. */
    private final class Served implements PagedLane {
        @Override
        public BriefLock lock() {
            return lane.lock;
        }

        @Override
        public DeviceLock deviceLock() {
            return lanes.deviceLock;
        }

        @Override
        public Object shrinkLock() {
            return lanes.shrinkLock;
        }

        @Override
        public Counters counters() {
            return lane.counters;
        }

        @Override
        public HeldLimit heldLimit() {
            return lanes.heldLimit;
        }

        @Override
        public List<LanePages> others() {
            if (lanes.count() == 1) {
                return List.of();
            }
            final List<LanePages> others = new ArrayList<>();
            for (final Lane each : lanes.all()) {
                if (each != lane && each.supply instanceof PageSupply supply) {
                    others.add(supply.pages);
                }
            }
            return others;
        }

        @Override
        public long changes() {
            return lanes.changes();
        }

        @Override
        public long idleBytesOfAll() {
            return lanes.idleBytes();
        }

        @Override
        public boolean shrinkAll() {
            return lanes.shrink().bytesReleased() > 0;
        }

        @Override
        public <T extends @Nullable Object> T locked(Supplier<T> work) {
            return lane.locked(work);
        }

        @Override
        public long lockedLong(LongSupplier work) {
            lane.lock.lock();
            try {
                lane.begin();
                final long result = work.getAsLong();
                lane.placement.step = BestFit.WHOLE;
                return result;
            } finally {
                lane.lock.unlock();
            }
        }

        @Override
        public void allocated(long byteSize, long requested) {
            lane.counters.allocated(byteSize, requested);
            assert lane.passesSampledCheck();
            lane.counters.allocs++;
        }

        @Override
        public void requireOutsideDevice() {
            lanes.requireOutsideDevice();
        }

        @Override
        public Entry roomForRange() {
            final LaneRegions.@Nullable Room room = lanes.roomFor(lane);
            return (base, byteSize) -> lanes.entered(room, base, byteSize);
        }

        @Override
        public void leaving(long base) {
            lanes.leaving(lane, base);
        }

        @Override
        public OutOfMemoryException failure(
                long byteSize, @Nullable SyncStream stream, OutOfMemoryException cause, boolean isOfAddresses) {
            return lane.report().pagesFailed(byteSize, stream, cause, isOfAddresses);
        }
    }
}
