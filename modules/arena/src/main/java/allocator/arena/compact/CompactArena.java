package allocator.arena.compact;

import allocator.arena.chunk.BackedFit;
import allocator.arena.chunk.Granules;
import allocator.arena.chunk.Placement;
import allocator.arena.chunk.Region;
import allocator.arena.chunk.Repair;
import allocator.arena.upstream.Counters;
import allocator.arena.upstream.HeldLimit;
import allocator.provider.support.BriefLock;
import allocator.provider.support.Limit;
import allocator.provider.support.StackReserve;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An arena that holds little more than what lives. Its chunks lie in one range of addresses, much longer than the
 * memory that it holds; extents of physical memory are mapped where chunks are in use, and mapped elsewhere once they
 * are idle.
 *
 * <p>A request takes the smallest free chunk that fits and whose pages are mapped and idle, or in use for its
 * neighbours: without a call of the device. Where there is none, the free chunk is taken that lacks the fewest pages.
 * They are created as long as the arena holds less than what has been in use at once, and a part of it
 * ({@linkplain CompactConfig#slack slack}) more; then idle pages from elsewhere are mapped there. So a request fails
 * only if the limit or the device has fewer pages than it needs, idle ones included.
 *
 * <p><b>Streams.</b> Memory freed on a stream may be used by that stream, and by others that have waited for it, as in
 * {@link allocator.arena.BfcArena}. The same holds for a page that is mapped elsewhere.
 *
 * <p><b>Locks.</b> One lock guards all tables, and is never held during a call of the device or of a stream that may
 * block. A second one, taken first, admits one thread at a time to call the device. An allocation served without the
 * device never waits for it.
 *
 * <p>All methods are safe for use by several threads.
 */
// One class, since its methods share the protocol of the lock.
public final class CompactArena {
    private static final long NO_ADDRESS = Placement.NO_ADDRESS;

    /** The number of chunks up to which every mutation is checked, where assertions are on. */
    private static final int CHECKED_ALWAYS = 64;

    final PageSource source;
    final MemoryInfo info;
    final CompactConfig config;
    final long pageBytes;

    /** Held while the device is called. Taken before {@link #lock}. */
    final ReentrantLock deviceLock = new ReentrantLock();

    /** Held while streams are waited for. Taken before {@link #deviceLock}. */
    final ReentrantLock shrinkLock = new ReentrantLock();

    /** Guards everything below. */
    final BriefLock lock = new BriefLock();

    final PageTable table;
    final BackedFit placement;
    final HeldLimit heldLimit;
    final Counters counters;
    final PageGrowth growth;
    final CompactReport report;
    private final PageReturns returns;

    /** The range, {@code null} until the first request. */
    @Nullable
    Region region;

    /** Mutations until the next check, where assertions are on. */
    private long untilCheck;

    /**
     * Creates an arena that holds no memory and has no addresses yet.
     *
     * @param source provides pages; used by this arena alone, which does not close it
     * @param config the configuration
     * @throws IllegalArgumentException if the limit is below the size of a page, or the range is no multiple of it
     */
    public CompactArena(PageSource source, CompactConfig config) {
        this(source, config, ExtentSizes.DEFAULT);
    }

    /** Creates an arena with extents of other sizes. */
    CompactArena(PageSource source, CompactConfig config, ExtentSizes sizes) {
        this.source = Objects.requireNonNull(source, "source");
        this.config = Objects.requireNonNull(config, "config");
        info = source.info();
        pageBytes = source.pageBytes();
        config.requireFits(pageBytes);
        table = new PageTable(pageBytes);
        placement = new BackedFit(table);
        heldLimit = new HeldLimit(new Limit(config.maxMem()).available(0));
        counters = new Counters(heldLimit);
        growth = new PageGrowth(this, sizes);
        returns = new PageReturns(this);
        report = new CompactReport(this);
    }

    /**
     * Returns the memory that the arena serves.
     *
     * @return the description that the source gives
     */
    public MemoryInfo info() {
        return info;
    }

    /**
     * Allocates memory without a stream. The memory is never bound to a stream, so any thread and device queue may use
     * it at once.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address, aligned to {@link OptionKey#SIZE_GRANULARITY}; to be freed with {@link #free}
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request; the arena stays usable
     * @throws DeviceException if the device fails; the arena stays usable
     * @throws AllocatorClosedException if the arena is closed
     */
    public long alloc(long byteSize) {
        return allocate(byteSize, null);
    }

    /**
     * Allocates memory for use on a stream. It may be memory that the stream freed before.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param stream the stream
     * @return the address, aligned to {@link OptionKey#SIZE_GRANULARITY}; to be freed with {@link #free}
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request; the arena stays usable
     * @throws DeviceException if the device fails; the arena stays usable
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocOnStream(long byteSize, SyncStream stream) {
        return allocate(byteSize, Objects.requireNonNull(stream, "stream"));
    }

    private long allocate(long byteSize, @Nullable SyncStream stream) {
        if (byteSize <= 0 || byteSize > OptionKey.MAX_SIZE) {
            return allocateNothing(byteSize);
        }
        long address = NO_ADDRESS;
        int taken = Placement.WHOLE;
        lock.lock();
        try {
            begin();
            address = tryTake(byteSize, stream);
            taken = placement.step;
            placement.step = Placement.WHOLE;
            lock.unlock();
        } catch (Throwable e) {
            // Stores only: where the stack has ended, a call fails, and the lock would stay locked.
            if (address != NO_ADDRESS) {
                counters.allocs--;
                placement.step = taken;
            }
            lock.owner = null;
            lock.held = 0;
            throw e;
        }
        return address == NO_ADDRESS ? growth.allocate(byteSize, stream) : address;
    }

    private long allocateNothing(long byteSize) {
        if (byteSize < 0) {
            throw InvalidSizeException.negative(byteSize);
        }
        if (byteSize > OptionKey.MAX_SIZE) {
            throw InvalidSizeException.overflow(byteSize, Granules.BYTES);
        }
        return locked(() -> NO_ADDRESS);
    }

    /** Takes a free chunk that is backed; returns {@link Placement#NO_ADDRESS} if there is none. Under the lock. */
    long tryTake(long byteSize, @Nullable SyncStream stream) {
        if (region == null) {
            return NO_ADDRESS;
        }
        final long address = placement.take(Granules.ceil(byteSize), byteSize, stream);
        if (address != NO_ADDRESS) {
            counters.allocated(Granules.toBytes(placement.takenGranules()), byteSize);
            assert passesSampledCheck();
            counters.allocs++;
        }
        return address;
    }

    /**
     * Frees an allocation. Memory allocated on a stream stays bound to the stream: another stream gets it only after it
     * has waited for an event recorded after this call, or after {@link #endRun} or {@link #releaseStream}.
     *
     * @param address the address that the allocation returned; {@code 0} does nothing
     * @throws InvalidFreeException if it is not the start of a live allocation; nothing changes then
     * @throws AllocatorClosedException if the arena is closed
     */
    public void free(long address) {
        boolean isFreed = false;
        lock.lock();
        try {
            begin();
            isFreed = address == NO_ADDRESS;
            if (!isFreed) {
                freeChunk(address);
                isFreed = true;
            }
            lock.unlock();
        } catch (Throwable e) {
            // Stores only, as above. What is freed is freed: what failed then is repaired later.
            if (placement.step == Placement.FREED) {
                isFreed = true;
                placement.step = Placement.BEGUN;
            }
            lock.owner = null;
            lock.held = 0;
            if (!isFreed || !(e instanceof VirtualMachineError)) {
                throw e;
            }
        }
    }

    private void freeChunk(long address) {
        final Region range = region;
        final int chunk = range == null || placement.regions().find(address) == null
                ? Region.NO_CHUNK
                : placement.liveChunk(range, address);
        if (range == null || chunk == Region.NO_CHUNK) {
            throw report.invalidFree(address);
        }
        final long granules = placement.granules(range, chunk);
        final long requested = placement.requested(chunk);
        placement.prepareFree();
        placement.free(range, chunk, granules);
        counters.freed(Granules.toBytes(granules), requested);
        assert passesSampledCheck();
        placement.step = Placement.WHOLE;
    }

    /** Begins work under the lock: checks that the arena is open, and repairs what an operation has left half done. */
    void begin() {
        if (placement.step != Placement.WHOLE) {
            if (isClosed()) {
                throw new AllocatorClosedException("the arena of " + info + " is closed");
            }
            repair();
        }
    }

    private void repair() {
        growth.cancel();
        final Repair.Live live = placement.repair();
        placement.recount();
        final PageGrowth.Unfinished unfinished = growth.unfinished();
        counters.recount(live.inUse() - unfinished.bytes(), live.requested() - unfinished.requested());
        placement.step = Placement.WHOLE;
    }

    boolean isClosed() {
        return placement.step == Placement.CLOSED;
    }

    /** Runs work under the lock, after {@link #begin}. */
    <T extends @Nullable Object> T locked(Supplier<T> work) {
        StackReserve.touch();
        lock.lock();
        try {
            begin();
            final T result = work.get();
            placement.step = Placement.WHOLE;
            return result;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Unbinds all memory of a stream, free and in use: any stream may use what the stream has freed and what it frees
     * later. Call it when the stream's work is done and no more will follow, at its close.
     *
     * @param stream the stream; nothing happens if it has no memory here
     * @throws AllocatorClosedException if the arena is closed
     */
    public void releaseStream(SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        locked(() -> {
            placement.releaseStream(stream);
            assert passesSampledCheck();
            return true;
        });
    }

    /**
     * Unbinds the memory that a stream has freed so far, so that any stream may use it (T-04). Memory that it frees
     * later is bound to it again (T-01). Call it when the stream's work is done, at run end.
     *
     * @param stream the stream; nothing happens if it has no memory here
     * @throws AllocatorClosedException if the arena is closed
     */
    public void endRun(SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        locked(() -> {
            placement.endRun(stream);
            assert passesSampledCheck();
            return true;
        });
    }

    /**
     * Releases every extent that holds nothing alive, with live memory around it. Waits first for the streams that may
     * still use free memory; an extent that is used in between stays.
     *
     * @return what was returned and what stays
     * @throws DeviceException if waiting for a stream fails, in which case nothing is returned; or if the device fails
     *     to take a page back, after all others were returned
     * @throws AllocatorClosedException if the arena is closed
     */
    public ShrinkReport shrink() {
        return returns.shrink();
    }

    /**
     * Releases all pages, live memory or not, after the streams that own memory here are done. All addresses become
     * invalid. A second call tries again to return what is still held, and otherwise does nothing.
     *
     * @throws DeviceException if waiting for a stream or returning memory fails; everything else was returned then, and
     *     the arena is closed all the same
     */
    public void close() {
        returns.close();
    }

    /**
     * Returns the counters at this moment. An extent counts as a region.
     *
     * @return the statistics
     * @throws AllocatorClosedException if the arena is closed
     */
    public AllocatorStats stats() {
        return locked(report::stats);
    }

    /**
     * Returns how the memory is backed at this moment.
     *
     * @return the counters
     * @throws AllocatorClosedException if the arena is closed
     */
    public PageStats pageStats() {
        return locked(() -> growth.stats());
    }

    /** Returns whether the calling thread is in a call by the arena to its device or to a stream. */
    boolean isInDevice() {
        return deviceLock.isHeldByCurrentThread() || shrinkLock.isHeldByCurrentThread();
    }

    /** Throws if the thread is in a call by the arena: such a call may use and free what the arena holds. */
    void requireOutsideDevice() {
        if (isInDevice()) {
            throw new IllegalStateException("the arena of " + info + " is in a call to its device or to a stream, "
                    + "which may use and free what the arena holds, but not make it take more, nor close it");
        }
    }

    /**
     * Waits for the streams that may still use free memory. Returns whether there are any, and all their work is done.
     */
    boolean awaitOwners() {
        shrinkLock.lock();
        try {
            return returns.awaitOwners();
        } finally {
            shrinkLock.unlock();
        }
    }

    /**
     * Returns the Java heap that the arena's own tables take.
     *
     * @return bytes, approximately
     */
    public long bookkeepingBytes() {
        return locked(() -> placement.bookkeepingBytes() + table.bookkeepingBytes());
    }

    /**
     * Compares all structures with one another, for tests. Takes time proportional to the number of chunks.
     *
     * @throws IllegalStateException if they contradict one another; the message says where
     */
    public void checkConsistency() {
        locked(() -> {
            report.requireConsistent();
            return true;
        });
    }

    /** Checks a small arena at every mutation, and a large one rarely. Under the lock. */
    boolean passesSampledCheck() {
        if (--untilCheck < 0) {
            report.requireConsistent();
            final int count = placement.chunkCount();
            untilCheck = count <= CHECKED_ALWAYS ? 0 : count;
        }
        return true;
    }
}
