package allocator.arena;

import allocator.arena.chunk.Granules;
import allocator.arena.page.PageSource;
import allocator.arena.page.ReservePages;
import allocator.provider.support.UnreturnedMemory;
import allocator.provider.support.event.AllocatorEvents;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A best-fit-with-coalescing arena on addresses. It takes regions from an upstream allocator, hands out chunks of them,
 * and keeps freed chunks for later requests.
 *
 * <p>With one lane and {@link PlacementPolicy#BEST_FIT} it places every chunk as ONNX Runtime's arena does, and differs
 * where that arena is wrong: the limit covers regions and reserves together; an invalid free throws; memory freed on a
 * stream passes to another stream only after an event that was recorded after the free.
 *
 * <p><b>Lanes.</b> An arena starts with one <em>lane</em>: one set of regions behind one lock. A stream that contends
 * for that lock with other requesters 16 times within a second gets its own lane, up to {@link ArenaConfig#maxLanes};
 * so does a thread that allocates without a stream. Uncontended arenas never divide: a single thread stays on one lane
 * regardless of how many streams it uses, and so does a single stream used by many threads.
 *
 * <p>Any thread may free any memory, which returns to the lane it came from. Free memory of one lane serves other lanes
 * only under pressure. When the limit or the device cannot satisfy a request, the arena tries the other lanes, then
 * makes all lanes return their free regions and repeats the request; that may wait for streams. The limit holds for all
 * lanes together. When a stream is released, its lane becomes available to the next requester that needs one.
 *
 * <p><b>Statistics</b> are exact and describe one moment while there is one lane. With several lanes they are the sums
 * over the lanes at one moment, except that the peak of bytes in use is the sum of the lanes' peaks, which they may
 * have reached at different times.
 *
 * <p>All methods are safe for use by several threads. An allocation served from a free chunk never waits for the
 * device.
 */
public final class BfcArena {
    private final ArenaConfig config;
    private final MemoryInfo info;
    final Lanes lanes;
    private final ArenaReport report;
    final PressureRelief relief;

    /**
     * Creates an arena that holds no memory.
     *
     * <p>A free takes effect. What the upstream allocator's device does not take back belongs to the upstream
     * allocator, whose close returns it. If the upstream allocator reports it as {@link UnreturnedMemory}, it counts as
     * held and towards the limit, and is offered to the device again by {@link #shrink} and before a request fails.
     * Several arenas may share an upstream allocator: each of them counts all of that memory.
     *
     * @param upstream provides regions and reserves; this arena calls it from one thread at a time and does not close
     *     it
     * @param config the configuration
     * @throws IllegalArgumentException if the upstream memory's alignment is greater than
     *     {@link OptionKey#SIZE_GRANULARITY}, the arena's own alignment, or the policy needs pages
     */
    public BfcArena(Allocator upstream, ArenaConfig config) {
        this(upstream, null, config);
    }

    /**
     * {@return a new arena on pages, which holds no memory and has no addresses yet}
     *
     * @param upstream provides reserves
     * @param pages provides the memory of everything else; this arena calls it from one thread at a time and does not
     *     close it
     * @param config the configuration, with {@link PlacementPolicy#COMPACT}
     * @throws IllegalArgumentException if the policy is another one, the upstream memory's alignment is greater than
     *     {@link OptionKey#SIZE_GRANULARITY}, or the pages are of other memory than the upstream allocator's
     */
    public static BfcArena onPages(Allocator upstream, PageSource pages, ArenaConfig config) {
        if (!pages.info().equals(upstream.info())) {
            throw new IllegalArgumentException("the pages are of " + pages.info() + ", reserves of " + upstream.info());
        }
        return new BfcArena(upstream, pages, config);
    }

    private BfcArena(Allocator upstream, @Nullable PageSource pages, ArenaConfig config) {
        Objects.requireNonNull(upstream, "upstream");
        this.config = Objects.requireNonNull(config, "config");
        info = upstream.info();
        if (info.byteAlignment() > Granules.BYTES) {
            throw new IllegalArgumentException("an arena aligns to " + Granules.BYTES + " bytes, but " + info
                    + " requires " + info.byteAlignment());
        }
        if (config.placementPolicy().needsPages() != (pages != null)) {
            throw new IllegalArgumentException("the placement policy is " + config.placementPolicy()
                    + ": COMPACT needs pages, and no other has them");
        }
        lanes = new Lanes(upstream, pages, config);
        report = new ArenaReport(lanes);
        relief = new PressureRelief(lanes, report);
        AllocatorEvents.prepare();
    }

    /** {@return the memory that the arena serves: the upstream allocator's info} */
    public MemoryInfo info() {
        return info;
    }

    /** {@return the configuration} */
    public ArenaConfig config() {
        return config;
    }

    /**
     * Allocates memory without a stream. The memory is never bound to a stream, so any thread and device queue may use
     * it at once.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address, aligned to {@link OptionKey#SIZE_GRANULARITY}; to be freed with {@link #free}
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request; the arena stays usable
     * @throws AllocatorClosedException if the arena is closed
     */
    public long alloc(long byteSize) {
        return allocate(byteSize, null, LaneChoice.requester());
    }

    /**
     * Allocates memory for use on a stream. It may be memory that the stream freed before.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param stream the stream
     * @return the address, aligned to {@link OptionKey#SIZE_GRANULARITY}; to be freed with {@link #free}
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request; the arena stays usable
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocOnStream(long byteSize, SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        return allocate(byteSize, stream, LaneChoice.requester(stream));
    }

    private long allocate(long byteSize, @Nullable SyncStream stream, long requester) {
        final Lane lane = lanes.choice.laneFor(requester);
        try {
            return lane.allocate(byteSize, stream, requester);
        } catch (OutOfMemoryException e) {
            return relief.allocate(byteSize, stream, requester, lane, e);
        }
    }

    /**
     * Allocates memory outside the regions: exactly {@code byteSize} bytes of the upstream allocator, under the same
     * limit. A free returns it to the upstream allocator at once; {@link #shrink} does not affect it.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address, to be freed with {@link #free}
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request; the arena stays usable
     * @throws AllocatorClosedException if the arena is closed
     */
    public long reserve(long byteSize) {
        try {
            return lanes.main.reserve(byteSize);
        } catch (OutOfMemoryException e) {
            return relief.reserve(byteSize, e);
        }
    }

    /**
     * Returns what takes the pages of reserves away; a map counts as a reserve.
     *
     * @return the capability, empty if the upstream allocator is not {@link ReservePages}
     */
    public Optional<RemappableReserves> remappableReserves() {
        return lanes.upstream.paged().map(paged -> lanes.main.blocks);
    }

    /**
     * Returns what gives equal reserves one copy.
     *
     * @return the capability, empty if the upstream allocator does not have it
     */
    public Optional<PagedReserves> pagedReserves() {
        return Optional.ofNullable(lanes.upstream.reserves()).map(_ -> lanes.main.blocks);
    }

    /**
     * Frees an allocation or a reserve. Memory allocated on a stream stays bound to the stream: another stream gets it
     * only after it has waited for an event recorded after this call, or after {@link #endRun} or
     * {@link #releaseStream}.
     *
     * @param address the address that the allocation returned; {@code 0} does nothing
     * @throws InvalidFreeException if it is not the start of a live allocation; nothing changes then
     * @throws AllocatorClosedException if the arena is closed
     */
    public void free(long address) {
        lanes.at(address).free(address);
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
        for (final Lane lane : lanes.all()) {
            lane.unbind(stream, true);
        }
        lanes.choice.forget(LaneChoice.requester(stream));
    }

    /**
     * Unbinds the memory that a stream has freed so far, so that any stream may use it (T-04). Memory that it frees
     * later is bound to it again, since work may be queued on it in between (T-01). Call it when the stream's work is
     * done, at run end.
     *
     * @param stream the stream; nothing happens if it has no memory here
     * @throws AllocatorClosedException if the arena is closed
     */
    public void endRun(SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        for (final Lane lane : lanes.all()) {
            lane.unbind(stream, false);
        }
        lanes.choice.runEnded(LaneChoice.requester(stream));
    }

    /**
     * Returns every region without live allocations to the upstream allocator, except the first region of the main lane
     * if {@linkplain ArenaConfig#keepFirstRegion configured}, and restarts growth. The report says why each byte that
     * is still held stays. Waits first for the streams that own memory in those regions; a region of a stream that was
     * closed without {@linkplain SyncStream#hasEnded having ended} stays.
     *
     * @return what was returned and what stays
     * @throws DeviceException if waiting for a stream fails, in which case its lane returns nothing; or if pages cannot
     *     be released, after all others were
     * @throws AllocatorClosedException if the arena is closed
     */
    public ShrinkReport shrink() {
        return lanes.shrink();
    }

    /**
     * Returns all memory to the upstream allocator, live or not, after the streams that own memory here are done. It
     * does not wait for a stream that another thread closes at the same time: close streams before. All addresses
     * become invalid. A second call tries again to return what is still held, and otherwise does nothing.
     *
     * @return what was still live
     * @throws DeviceException if waiting for a stream or releasing pages fails; everything else was returned then, and
     *     the arena is closed
     */
    public CloseReport close() {
        return lanes.close();
    }

    /**
     * {@return the number of lanes, which never decreases: 1, and more as streams and threads contended for the first
     * one too often, up to {@link ArenaConfig#maxLanes}}
     */
    public int laneCount() {
        return lanes.count();
    }

    /**
     * {@return the counters at this moment}
     *
     * @throws AllocatorClosedException if the arena is closed
     */
    public AllocatorStats stats() {
        return report.stats();
    }

    /**
     * {@return the size in bytes that the caller of a live allocation requested}
     *
     * @param address the address that the allocation returned
     * @throws IllegalArgumentException if it is not the start of a live allocation
     * @throws AllocatorClosedException if the arena is closed
     */
    public long requestedSize(long address) {
        return lanes.at(address).report().requestedSize(address);
    }

    /**
     * {@return the size in bytes that a live allocation occupies, padding included}
     *
     * @param address the address that the allocation returned
     * @throws IllegalArgumentException if it is not the start of a live allocation
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocatedSize(long address) {
        return lanes.at(address).report().allocatedSize(address);
    }

    /**
     * {@return regions, chunks and reserves as they are, for reports} Nothing is merged, and each lane waits only while
     * its chunks are copied. Each lane is of one moment; different lanes may be of different ones.
     *
     * @throws AllocatorClosedException if the arena is closed
     */
    public AllocatorSnapshot inspect() {
        return report.inspect();
    }

    /**
     * Compares all structures with one another, for tests. Takes time proportional to the number of chunks.
     *
     * @throws IllegalStateException if they contradict one another; the message says where
     */
    public void checkConsistency() {
        lanes.all().forEach(Lane::checkConsistency);
    }
}
