package allocator.arena.compact;

import allocator.arena.chunk.ConsistencyCheck;
import allocator.arena.chunk.Repair;
import allocator.arena.page.PageSource;
import allocator.arena.upstream.Counters;
import allocator.arena.upstream.DeviceLock;
import allocator.arena.upstream.HeldLimit;
import allocator.provider.support.BriefLock;
import allocator.provider.support.Failures;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
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
public final class LanePages {
    final PagedLane lane;
    final PageSource source;
    final MemoryInfo info;
    final long pageBytes;
    final DeviceLock deviceLock;
    final Object shrinkLock;
    final BriefLock lock;
    final PageTable table;
    final BackedFit placement;
    final HeldLimit heldLimit;
    final Counters counters;
    final AddressRanges ranges = new AddressRanges(this);
    final PageGrowth growth;
    private final PageReturns returns;

    /**
     * Creates the memory of a lane, without pages and addresses.
     *
     * @param lane the lane
     * @param source provides pages; called under the device lock alone
     * @param sizes how much is held, and in extents of which sizes
     * @param table the table of the lane's pages
     * @param placement the lane's placement, backed by {@code table}
     */
    public LanePages(PagedLane lane, PageSource source, ExtentSizes sizes, PageTable table, BackedFit placement) {
        this.lane = lane;
        this.source = source;
        this.table = table;
        this.placement = placement;
        info = source.info();
        pageBytes = source.pageBytes();
        deviceLock = lane.deviceLock();
        shrinkLock = lane.shrinkLock();
        lock = lane.lock();
        heldLimit = lane.heldLimit();
        counters = lane.counters();
        growth = new PageGrowth(this, sizes);
        returns = new PageReturns(this);
    }

    <T extends @Nullable Object> T locked(Supplier<T> work) {
        return lane.locked(work);
    }

    /** Returns whether the calling thread is in a call by the arena to its device or to a stream. */
    boolean isInDevice() {
        return deviceLock.isHeld() || Thread.holdsLock(shrinkLock);
    }

    /**
     * Allocates with calls of the device, unless a chunk has become free.
     *
     * @param byteSize size in bytes, above zero
     * @param stream the stream that requests it, {@code null} for none
     * @return the address
     * @throws OutOfMemoryException if there are too few pages
     */
    public long allocate(long byteSize, @Nullable SyncStream stream) {
        return growth.allocate(byteSize, stream);
    }

    /**
     * Allocates after all lanes were shrunk, and shrinks them again as long as they have the pages that this one lacks,
     * and something has changed.
     *
     * @param byteSize size in bytes, above zero
     * @param stream the stream that requests it, {@code null} for none
     * @return the address
     * @throws OutOfMemoryException if all lanes together have too few pages
     */
    public long allocateOfAll(long byteSize, @Nullable SyncStream stream) {
        return growth.allocateOfAll(byteSize, stream);
    }

    /** Returns a number that rises with each free, and whenever work is known to be done. Under the lock. */
    public long changes() {
        return table.streams.changes();
    }

    /**
     * Repairs the placement and all that follows from it, after an operation failed half way. Under the lock.
     *
     * @return what is live, without a chunk that is still being backed
     */
    public Repair.Live repair() {
        growth.cancel();
        final Repair.Live live = placement.repair();
        placement.recount();
        final Repair.Live unfinished = growth.unfinished();
        return new Repair.Live(live.inUse() - unfinished.inUse(), live.requested() - unfinished.requested());
    }

    /** Returns the chunk that is being backed: it is taken, and not counted yet. Under the lock. */
    public Repair.Live unfinished() {
        return growth.unfinished();
    }

    /** Compares the tables with one another. Under the lock. */
    public void check() {
        table.check();
        ConsistencyCheck.expect(heldBytes() >= 0, "bytes of pages", heldBytes());
    }

    /** Returns the bytes of all pages. Under the lock. */
    public long heldBytes() {
        return table.pages() * pageBytes;
    }

    /** Returns the bytes of the pages that no live chunk touches. Under the lock. */
    public long idleBytes() {
        return table.idle() * pageBytes;
    }

    /**
     * Returns the bytes of the largest request that the idle pages serve, wherever it begins: in them, it may need one
     * more than its size says. Under the lock.
     */
    public long largestFree() {
        return Math.max(table.idle() - 1, 0) * pageBytes;
    }

    /** Returns how many extents hold live chunks. Under the lock. */
    public int extentsInUse() {
        return table.extents.count() - idleExtents();
    }

    /** Returns how many extents no live chunk touches. Under the lock. */
    public int idleExtents() {
        return table.extents.idleCount();
    }

    /** Returns the counters of pages. Under the lock. */
    public List<AllocatorStats.Counter> statistics() {
        return growth.statistics();
    }

    /** Gives back Java heap that the tables no longer need. Under the lock. */
    public void compact() {
        table.compact();
    }

    /** Adds the streams that may still use what they freed. Under the lock. */
    public void addOwners(Map<Long, SyncStream> owners) {
        table.addOwners(owners);
    }

    /**
     * Waits for the streams that may still use free memory, and forgets what they freed before. Without a lock that an
     * allocation takes.
     *
     * @return whether there is one whose work is done
     */
    public boolean awaitOwners() {
        synchronized (shrinkLock) {
            return returns.awaitOwners();
        }
    }

    /**
     * Releases the idle pages that no stream may still use. Under the device lock.
     *
     * @param failures takes what is thrown; a page that could not be released stays
     * @return the number of released extents
     */
    public int releaseIdle(Failures failures) {
        return returns.releaseIdle(failures);
    }

    /**
     * Ends the mappings through which nothing is in use, and releases the idle pages, as the source has no room for
     * another mapping. Without a lock.
     *
     * @return whether there are fewer mappings now
     */
    boolean endsIdleMappings() {
        synchronized (deviceLock) {
            final int before = table.mappings.mappedPlaces();
            final Failures failures = new Failures();
            returns.releaseIdle(failures);
            failures.throwIfAny();
            return table.mappings.mappedPlaces() < before;
        }
    }

    /**
     * Releases idle pages as long as there are more than a number, as a request has made them and failed. Without a
     * lock.
     *
     * @return whether there were more
     */
    boolean releaseDownTo(long most) {
        synchronized (deviceLock) {
            return returns.releaseDownTo(most);
        }
    }

    /** Makes all pages leave, as the lane is closed. Stores only. Under the lock. */
    public void leaveAll() {
        table.extents.takeAll();
    }

    /**
     * Releases all pages and the ranges, after {@link #leaveAll}. A second call tries again what failed. Under the
     * device lock.
     *
     * @param failures takes what is thrown
     */
    public void giveBack(Failures failures) {
        returns.giveBack(failures);
    }
}
