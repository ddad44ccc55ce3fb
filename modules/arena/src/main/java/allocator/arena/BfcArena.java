package allocator.arena;

import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The best-fit-with-coalescing arena, on addresses: takes regions from an upstream allocator, hands out chunks of them,
 * and keeps what is freed for the next request. It behaves chunk for chunk as ONNX Runtime's arena, less its faults:
 * the limit holds for regions and reserves together, a bad free is refused, a stream's memory is handed on only after
 * an event that was recorded when it was free already.
 *
 * <p><b>Lanes.</b> All memory is in one lane as long as threads take turns. Threads that allocate at once wait for one
 * another at its lock. A stream that has waited there for others sixteen times within a second is served from a lane of
 * its own from then on, with regions and a lock of its own; so is a thread that allocates for no stream in particular.
 * One thread, however many streams it has, never sees but one lane, and neither does one stream of many threads. There
 * are at most {@link ArenaConfig#maxLanes} lanes.
 *
 * <p>Memory is freed to the lane that it came from, by whichever thread. A lane's free memory serves others only under
 * pressure: where limit or device refuse, the other lanes are asked, and then all give their free regions back and the
 * request is made once more; that may wait for streams. The limit holds for all lanes together. The lane of a released
 * stream goes to whoever needs one next.
 *
 * <p><b>Statistics</b> are exact and of one moment while there is one lane. With several they are the sums over the
 * lanes, of one moment, except that the peak of bytes in use is the sum of the lanes' peaks, which they may have
 * reached one after the other.
 *
 * <p>Who finds a free chunk never waits for the device. Safe for use by any thread.
 */
public final class BfcArena {
    private final ArenaConfig config;
    private final MemoryInfo info;
    final Lanes lanes;

    /** Refusals of lanes that another lane, or a second attempt, made good. */
    private final AtomicLong madeGood = new AtomicLong();

    /**
     * Makes an arena that holds nothing yet.
     *
     * @param upstream gives the regions and the reserves, one call at a time; the arena does not close it
     * @param config the settings
     * @throws IllegalArgumentException if the memory's alignment is above {@link OptionKey#SIZE_GRANULARITY}, to which
     *     the arena aligns
     */
    public BfcArena(Allocator upstream, ArenaConfig config) {
        Objects.requireNonNull(upstream, "upstream");
        this.config = Objects.requireNonNull(config, "config");
        info = upstream.info();
        if (info.byteAlignment() > Units.BYTES) {
            throw new IllegalArgumentException(
                    "an arena aligns to " + Units.BYTES + " bytes, " + info + " asks for " + info.byteAlignment());
        }
        lanes = new Lanes(upstream, config);
    }

    /**
     * The memory that the arena serves.
     *
     * @return the upstream allocator's info
     */
    public MemoryInfo info() {
        return info;
    }

    /**
     * The settings.
     *
     * @return the configuration
     */
    public ArenaConfig config() {
        return config;
    }

    // ---- allocating

    /**
     * Allocates memory for no stream in particular; it is never memory that a stream still owns.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request
     * @throws AllocatorClosedException if the arena is closed
     */
    public long alloc(long byteSize) {
        return allocate(byteSize, null, LaneChoice.asker());
    }

    /**
     * Allocates memory for a stream, which may be memory that the stream freed before.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @param stream the stream
     * @return the address
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocOnStream(long byteSize, SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        return allocate(byteSize, stream, LaneChoice.asker(stream));
    }

    private long allocate(long byteSize, @Nullable SyncStream stream, long asker) {
        final Lane lane = lanes.choice.laneFor(asker);
        try {
            return lane.allocate(byteSize, stream, asker);
        } catch (OutOfMemoryException e) {
            return fromOtherLanes(byteSize, stream, asker, lane, e);
        }
    }

    /**
     * Allocates memory outside the regions: exactly {@code byteSize} bytes of the upstream allocator, under the same
     * limit. It goes back to the upstream allocator when it is freed; {@link #shrink} does not touch it.
     *
     * @param byteSize size in bytes; {@code 0} yields the empty allocation
     * @return the address, to be freed with {@link #free}
     * @throws InvalidSizeException if the size is negative or cannot be rounded up
     * @throws OutOfMemoryException if the limit or the device cannot satisfy the request
     * @throws AllocatorClosedException if the arena is closed
     */
    public long reserve(long byteSize) {
        try {
            return lanes.main.reserve(byteSize);
        } catch (OutOfMemoryException e) {
            return afterGivingBack(byteSize, () -> lanes.main.reserve(byteSize), e, 1);
        }
    }

    /** Asks the other lanes, and then for what all give back. */
    private long fromOtherLanes(
            long byteSize, @Nullable SyncStream stream, long asker, Lane own, OutOfMemoryException refusal) {
        int refusals = 1;
        for (final Lane lane : lanes.all()) {
            if (lane != own) {
                try {
                    final long address = lane.allocate(byteSize, stream, asker);
                    madeGood.addAndGet(refusals);
                    return address;
                } catch (OutOfMemoryException e) {
                    refusals++;
                    refusal.addSuppressed(e);
                }
            }
        }
        return afterGivingBack(byteSize, () -> own.allocate(byteSize, stream, asker), refusal, refusals);
    }

    /** Lets every lane give back its free regions, where there are several, and asks once more. */
    private long afterGivingBack(long byteSize, LongSupplier request, OutOfMemoryException refusal, int refusals) {
        if (lanes.count() == 1) {
            throw refusal;
        }
        // Of all the refusals, one counts if the last attempt fails as well.
        madeGood.addAndGet(refusals);
        try {
            shrink();
            return request.getAsLong();
        } catch (OutOfMemoryException e) {
            throw ofAllLanes(e, byteSize);
        } catch (AllocatorException e) {
            madeGood.decrementAndGet();
            refusal.addSuppressed(e);
            throw refusal;
        }
    }

    /** A refusal with the numbers of all lanes. */
    private OutOfMemoryException ofAllLanes(OutOfMemoryException refusal, long byteSize) {
        final AllocatorStats stats = stats();
        final Shortage shortage = new Shortage(
                info,
                byteSize,
                refusal.shortage().rounded(),
                stats.limit(),
                stats.bytesInUse(),
                stats.bytesHeld(),
                refusal.shortage().largestFree(),
                refusal.shortage().deviceFree());
        return new OutOfMemoryException(
                "No memory, also after " + lanes.count() + " lanes gave back what was free",
                shortage,
                refusal.dump(),
                refusal);
    }

    // ---- freeing

    /**
     * Frees an allocation or a reserve. What a stream took stays with the stream, until the stream is released or
     * another one has waited for an event that is recorded from now on.
     *
     * @param address what the allocation returned; {@code 0} does nothing
     * @throws InvalidFreeException if it is not the start of a live allocation; nothing changes then
     * @throws DeviceException if the upstream allocator fails to take a reserve back; it is free all the same
     * @throws AllocatorClosedException if the arena is closed
     */
    public void free(long address) {
        lanes.at(address).free(address);
    }

    // ---- streams

    /**
     * Ends the tie between a stream and its memory, used and free: any stream may use from now on what it freed and
     * will free. To be called when the stream's work is done and no more will come, at its close.
     *
     * @param stream the stream; nothing happens if it has no memory here
     * @throws AllocatorClosedException if the arena is closed
     */
    public void releaseStream(SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        lanes.all().forEach(lane -> lane.releaseStream(stream));
        lanes.choice.forget(LaneChoice.asker(stream));
    }

    /**
     * Lets any stream use what a stream has freed so far (T-04). What it frees later is tied to it again, since it may
     * work on it meanwhile (T-01). To be called when the stream's work is done, at run end.
     *
     * @param stream the stream; nothing happens if it has no memory here
     * @throws AllocatorClosedException if the arena is closed
     */
    public void endRun(SyncStream stream) {
        Objects.requireNonNull(stream, "stream");
        lanes.all().forEach(lane -> lane.endRun(stream));
    }

    // ---- shrinking and closing

    /**
     * Returns every region without live allocations to the upstream allocator, except the first one of the main lane
     * where the settings keep it; growth starts anew. Waits first for the streams that own memory in those regions.
     *
     * @return what went back and what stays
     * @throws DeviceException if a stream cannot be waited for, and nothing of its lane is returned then; or if the
     *     upstream allocator fails to take a region back, after all others were returned
     * @throws AllocatorClosedException if the arena is closed
     */
    public ShrinkReport shrink() {
        final Failures failures = new Failures();
        ShrinkReport sum = new ShrinkReport(0, 0, 0, 0, 0);
        for (final Lane lane : lanes.all()) {
            try {
                final ShrinkReport report = lane.shrink();
                sum = new ShrinkReport(
                        sum.bytesReleased() + report.bytesReleased(),
                        sum.regionsReleased() + report.regionsReleased(),
                        sum.bytesHeld() + report.bytesHeld(),
                        sum.regionsInUse() + report.regionsInUse(),
                        sum.regionsKept() + report.regionsKept());
            } catch (RuntimeException e) {
                failures.add(e);
            }
        }
        failures.throwIfAny();
        return sum;
    }

    /**
     * Returns everything to the upstream allocator, live or not, after the streams that own memory here are done. All
     * addresses are dead then. A second call does nothing.
     *
     * @return what was still live
     * @throws DeviceException if a stream cannot be waited for or memory cannot be returned; everything else was
     *     returned then, and the arena is closed all the same
     */
    public CloseReport close() {
        lanes.choice.close();
        final Failures failures = new Failures();
        CloseReport sum = new CloseReport(0, 0, 0);
        for (final Lane lane : lanes.all()) {
            try {
                final CloseReport report = lane.close();
                sum = new CloseReport(
                        sum.liveAllocations() + report.liveAllocations(),
                        sum.liveBytes() + report.liveBytes(),
                        sum.bytesReturned() + report.bytesReturned());
            } catch (RuntimeException e) {
                failures.add(e);
            }
        }
        failures.throwIfAny();
        return sum;
    }

    // ---- looking

    /**
     * How many lanes there are: one, and one more for each stream and thread that met others too often.
     *
     * @return from 1 on; never less than before
     */
    public int laneCount() {
        return lanes.count();
    }

    /**
     * The counters at this moment.
     *
     * @return the statistics
     * @throws AllocatorClosedException if the arena is closed
     */
    public AllocatorStats stats() {
        return sumOf(ofEach(Lane::currentStats));
    }

    /** Answers of all lanes, all of one moment. */
    private <T> List<T> ofEach(Function<Lane, T> question) {
        final List<Lane> all = List.copyOf(lanes.all());
        final List<T> answers = new ArrayList<>(all.size());
        int stopped = 0;
        try {
            for (; stopped < all.size(); stopped++) {
                all.get(stopped).stop();
            }
            all.forEach(lane -> answers.add(question.apply(lane)));
        } finally {
            while (stopped > 0) {
                all.get(--stopped).goOn();
            }
        }
        return answers;
    }

    private AllocatorStats sumOf(List<AllocatorStats> each) {
        if (each.size() == 1) {
            return each.getFirst();
        }
        final long held = sum(each, AllocatorStats::bytesHeld);
        return new AllocatorStats.Builder()
                .limit(each.getFirst().limit())
                .inUse(
                        sum(each, AllocatorStats::bytesInUse),
                        sum(each, AllocatorStats::requestedBytesInUse),
                        sum(each, AllocatorStats::peakBytesInUse))
                .held(held, lanes.budget.peakHeld())
                .free(sum(each, AllocatorStats::freeBytes), max(each, AllocatorStats::largestFreeChunk))
                .calls(
                        sum(each, AllocatorStats::numAllocs),
                        sum(each, AllocatorStats::numReserves),
                        sum(each, AllocatorStats::numFailedAllocs) - madeGood.get(),
                        max(each, AllocatorStats::maxAllocSize))
                .regions(sum(each, AllocatorStats::numArenaExtensions), sum(each, AllocatorStats::numArenaShrinkages))
                .build();
    }

    private static long sum(List<AllocatorStats> each, ToLongFunction<AllocatorStats> counter) {
        return each.stream().mapToLong(counter).sum();
    }

    private static long max(List<AllocatorStats> each, ToLongFunction<AllocatorStats> counter) {
        return each.stream().mapToLong(counter).max().orElse(0);
    }

    /**
     * What the caller of a live allocation asked for.
     *
     * @param address what the allocation returned
     * @return bytes
     * @throws IllegalArgumentException if it is not the start of a live allocation
     * @throws AllocatorClosedException if the arena is closed
     */
    public long requestedSize(long address) {
        return lanes.at(address).requestedSize(address);
    }

    /**
     * What a live allocation occupies, padding included.
     *
     * @param address what the allocation returned
     * @return bytes
     * @throws IllegalArgumentException if it is not the start of a live allocation
     * @throws AllocatorClosedException if the arena is closed
     */
    public long allocatedSize(long address) {
        return lanes.at(address).allocatedSize(address);
    }

    /**
     * The arena at this moment, in proportion to its chunks.
     *
     * @return regions, chunks and reserves
     * @throws AllocatorClosedException if the arena is closed
     */
    public ArenaSnapshot snapshot() {
        final List<ArenaSnapshot> each = ofEach(Lane::currentSnapshot);
        return new ArenaSnapshot(
                info,
                config,
                sumOf(each.stream().map(ArenaSnapshot::stats).toList()),
                each.getFirst().nextRegionBytes(),
                inOrder(each, ArenaSnapshot::regions, ArenaSnapshot.Region::address),
                inOrder(each, ArenaSnapshot::reserves, ArenaSnapshot.Block::address),
                inOrder(each, ArenaSnapshot::unreturned, ArenaSnapshot.Block::address));
    }

    private static <T> List<T> inOrder(
            List<ArenaSnapshot> each, Function<ArenaSnapshot, List<T>> part, Function<T, Long> address) {
        return each.stream()
                .flatMap(snapshot -> part.apply(snapshot).stream())
                .sorted(Comparator.comparing(address, Long::compareUnsigned))
                .toList();
    }

    /**
     * What the arena's own tables take of the Java heap.
     *
     * @return bytes, about
     */
    public long bookkeepingBytes() {
        return lanes.all().stream().mapToLong(Lane::bookkeepingBytes).sum();
    }

    /**
     * Walks all structures and compares them with one another: for tests, in proportion to the number of chunks.
     *
     * @throws IllegalStateException if they contradict each other; it says where
     */
    public void checkConsistency() {
        lanes.all().forEach(Lane::checkConsistency);
    }
}
