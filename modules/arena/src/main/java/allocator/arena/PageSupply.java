package allocator.arena;

import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Repair;
import allocator.arena.compact.BackedFit;
import allocator.arena.compact.PageTable;
import allocator.arena.page.PageSource;
import allocator.arena.upstream.StreamWork;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkReport.Held;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a lane as pages. The lane's chunks lie in ranges of addresses, longer than the memory held; pages are
 * mapped where chunks are in use, and mapped elsewhere once they are idle.
 *
 * <p>A request takes the smallest free chunk that fits and whose pages are mapped and idle, or in use for its
 * neighbours: {@link BackedFit} does so without a call of the device. Where there is none, {@link PageGrowth} takes the
 * free chunk that lacks the fewest pages. They are created as long as the lane holds less than what has been in use at
 * once, and a part of it, the <em>slack</em>, more; then idle pages from elsewhere are mapped there. An extent stays
 * where it is for one live byte in it, whatever its size: a request may fail while enough of its pages are free.
 *
 * <p><b>Streams.</b> Memory freed on a stream may be used by that stream, and by others that have waited for it. The
 * same holds for a page that is mapped elsewhere.
 *
 * <p>The lane's lock guards all tables, and is never held during a call of the device or of a stream that may block.
 */
final class PageSupply extends Supply {
    final PageSource source;
    final long pageBytes;
    final PageTable table;
    final BackedFit placement;
    final AddressRanges ranges;
    final PageGrowth growth;

    /**
     * Creates the memory of a lane, without pages and addresses.
     *
     * @param source provides pages; called under the device lock alone
     * @param table the table of the lane's pages
     * @param placement the lane's placement, backed by {@code table}
     */
    PageSupply(Lane lane, PageSource source, PageTable table, BackedFit placement) {
        super(lane);
        this.source = source;
        this.table = table;
        this.placement = placement;
        pageBytes = source.pageBytes();
        ranges = new AddressRanges(this);
        growth = new PageGrowth(this);
    }

    @Override
    long allocate(long byteSize, @Nullable SyncStream stream) {
        return growth.allocate(byteSize, stream);
    }

    @Override
    long allocateOfAll(long byteSize, @Nullable SyncStream stream) {
        return growth.allocateOfAll(byteSize, stream);
    }

    /** Returns the pages of the arena's other lanes. Under the device lock. */
    List<PageSupply> others() {
        final List<PageSupply> others = new ArrayList<>();
        for (final Lane each : lanes.all()) {
            if (each != lane && each.supply instanceof PageSupply other) {
                others.add(other);
            }
        }
        return others;
    }

    @Override
    long changes() {
        return lane.lockedLong(table.streams::changes);
    }

    @Override
    ShrinkReport shrinkAlone() {
        awaitOwners();
        synchronized (lanes.deviceLock) {
            final long before = lane.lockedLong(this::heldBytes);
            final Failures failures = new Failures();
            final int released = releaseIdle(failures);
            lane.compact();
            failures.throwIfAny();
            return report(before - lane.lockedLong(this::heldBytes), released);
        }
    }

    @Override
    List<Held> staying() {
        final int idle = table.extents.idleCount();
        return List.of(
                new Held(heldBytes() - idleBytes(), table.extents.count() - idle, "pages with live blocks"),
                new Held(idleBytes(), idle, "pages that were used during the shrink, or that a stream may still use"));
    }

    /**
     * Waits for the streams that may still use free memory, and forgets what they freed before: extents can be moved
     * then, and mappings ended. The chunks stay bound to their streams (T-03). Without a lock that an allocation takes.
     * Returns whether there is one whose work is done.
     */
    boolean awaitOwners() {
        synchronized (lanes.shrinkLock) {
            final Map<Long, SyncStream> owners = new LinkedHashMap<>();
            final long free = lane.locked(() -> {
                table.streams.addPending(owners);
                return table.streams.frees();
            });
            int done = 0;
            for (final SyncStream owner : owners.values()) {
                if (StreamWork.await(owner)) {
                    done++;
                    lane.locked(() -> {
                        table.streams.finish(owner, free);
                        return true;
                    });
                }
            }
            if (done > 0 && done == owners.size()) {
                lane.locked(() -> {
                    table.streams.finishUpTo(free);
                    return true;
                });
            }
            return done > 0;
        }
    }

    /**
     * Ends the mappings through which nothing is in use, and releases the idle pages, as the source has no room for
     * another mapping. Without a lock. Returns whether there are fewer mappings now.
     */
    boolean endsIdleMappings() {
        synchronized (lanes.deviceLock) {
            final int before = table.mappings.mappedPlaces();
            final Failures failures = new Failures();
            releaseIdle(failures);
            failures.throwIfAny();
            return table.mappings.mappedPlaces() < before;
        }
    }

    /**
     * Releases the idle extents that no stream may still use. Under the device lock.
     *
     * @param failures takes what is thrown; an extent that could not be released stays
     * @return the number of released extents
     */
    private int releaseIdle(Failures failures) {
        lane.locked(() -> {
            growth.abandonLeft();
            table.idleExtents.takeReleasable();
            return true;
        });
        final int released = release(failures);
        lane.locked(() -> {
            table.extents.putBackAll();
            return true;
        });
        return released;
    }

    /**
     * Releases idle extents that no stream may still use, as long as there are more pages than a number, as a request
     * has made them and failed; what the device fails to take back stays. Without a lock. Returns whether there were
     * more.
     */
    boolean releaseDownTo(long most) {
        synchronized (lanes.deviceLock) {
            int released = 0;
            try {
                for (int extent = takeBeyond(most); extent != PageTable.NONE; extent = takeBeyond(most)) {
                    released++;
                    growth.calls.releaseSpare(extent);
                }
            } catch (DeviceException e) {
                // The next shrink tries again. That there are too few pages counts for more.
            }
            return released > 0;
        }
    }

    private int takeBeyond(long most) {
        return (int) lane.lockedLong(() -> {
            final int more = (int) (table.pages() - most);
            final int extent = more > 0 ? table.idleExtents.releasable(more, Long.MAX_VALUE) : PageTable.NONE;
            if (extent != PageTable.NONE) {
                table.extents.take(extent);
            }
            return extent;
        });
    }

    /** Ends useless mappings and releases the extents in hand; returns how many. Under the device lock. */
    private int release(Failures failures) {
        final int extents = table.extents.count();
        for (int mapping = beginUnmap(0); mapping != PageTable.NONE; mapping = beginUnmap(mapping + 1)) {
            final int each = mapping;
            failures.run(() -> growth.calls.unmap(each));
        }
        for (int extent = table.extents.capacity() - 1; extent >= 0; extent--) {
            if (table.extents.isInHand(extent)) {
                final int each = extent;
                failures.run(() -> growth.calls.release(each));
            }
        }
        return extents - table.extents.count();
    }

    private int beginUnmap(int from) {
        lane.lock.lock();
        try {
            return table.beginUnmapUseless(from);
        } finally {
            lane.lock.unlock();
        }
    }

    /** {@inheritDoc} A chunk that is still being backed does not count. */
    @Override
    Repair.Live repair() {
        growth.cancel();
        final Repair.Live live = placement.repair();
        placement.recount();
        final Repair.Live unfinished = growth.unfinished;
        return new Repair.Live(live.inUse() - unfinished.inUse(), live.requested() - unfinished.requested());
    }

    @Override
    Repair.Live unfinished() {
        return growth.unfinished;
    }

    @Override
    long heldBytes(ConsistencyCheck check) {
        table.check();
        return heldBytes();
    }

    private long heldBytes() {
        return table.pages() * pageBytes;
    }

    @Override
    long idleBytes() {
        return table.idle() * pageBytes;
    }

    /** {@inheritDoc} It is what the idle pages serve, wherever it begins: in them, it may need one beyond its size. */
    @Override
    long largestFree() {
        return Math.max(table.idle() - 1, 0) * pageBytes;
    }

    @Override
    long largestFree(@Nullable SyncStream stream) {
        return largestFree();
    }

    @Override
    boolean isBacked(long address) {
        return table.isMapped(address);
    }

    @Override
    long pending(long address) {
        return table.pending(address);
    }

    @Override
    long sameBacking(long address, long end) {
        return table.sameMapping(address, end);
    }

    @Override
    List<AllocatorStats.Counter> ownCounters() {
        return growth.calls.statistics(growth.choice.cap);
    }

    @Override
    void compact() {
        table.compact();
    }

    @Override
    void addOwners(Map<Long, SyncStream> owners) {
        table.streams.addPending(owners);
    }

    @Override
    void leave() {
        table.extents.takeAll();
    }

    @Override
    void giveBack(Failures failures) {
        release(failures);
        ranges.giveBack(failures);
    }
}
