package allocator.cuda.arena;

import allocator.arena.ArenaConfig;
import allocator.cuda.memory.CudaAllocator;
import allocator.cuda.memory.CudaDevice;
import allocator.cuda.memory.CudaSyncStream;
import allocator.cuda.memory.DeviceMemory;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The arena of a device's memory.
 *
 * <p><b>Lanes.</b> All memory is in one arena, the <em>main lane</em>, as long as streams take turns; it behaves as if
 * there were no other. Streams that are worked by several threads at once meet at its lock. A stream that has met others
 * a number of times gets a lane of its own: an arena with its own lock, from which it is served from then on. So
 * one stream, however many threads use it, never leaves the main lane, and neither do streams of one thread.
 *
 * <p>Memory is freed to the lane that it came from, which its address tells. A lane's free memory serves other streams
 * only under pressure: where limit or device refuse a stream, the other lanes are asked for a chunk that it may use, and
 * then give their free regions back. A closed stream's lane goes to the next stream that needs one.
 *
 * <p><b>Statistics</b> are the sums over the lanes. While there is one lane, all of them are exact. With several, the
 * peak of bytes in use is the sum of the lanes' peaks, which they may have reached one after the other; the peak of bytes
 * held is exact.
 *
 * <p>With one lane a call costs a few reads and writes more than the arena alone; no call allocates Java objects.
 */
final class DeviceArena implements CudaAllocator, StreamAwareAllocator, ShrinkableAllocator {
    /** Few enough to be over at once under real contention, and more than a coincidence. */
    private static final int MEETINGS = 16;

    private final CudaDevice device;
    private final DeviceMemory upstream;
    private final ArenaConfig config;
    private final AllocatorOptions effectiveOptions;
    private final Budget budget;
    private final AtomicLong numFailedAllocs = new AtomicLong();

    private final Lane main;
    private final List<Lane> lanes = new CopyOnWriteArrayList<>();

    /** Guards changes of what follows; reading takes no lock. */
    private final Object lock = new Object();

    private final Map<Long, Integer> meetings = new HashMap<>();
    private volatile LaneTable table = LaneTable.EMPTY;
    private volatile LaneRegions regions = LaneRegions.NONE;

    DeviceArena(CudaDevice device, ArenaConfig config, AllocatorOptions effectiveOptions) {
        this.device = device;
        this.config = config;
        this.effectiveOptions = effectiveOptions;
        budget = new Budget(config.maxMem() == 0 ? AllocatorStats.UNLIMITED : config.maxMem());
        upstream = new DeviceMemory(device, device.defaultMemory());
        main = new Lane(upstream, budget, config, MainRegions.INSTANCE);
        lanes.add(main);
    }

    /** What lies in no other lane's regions is the main lane's. */
    private enum MainRegions implements Lane.RegionWatch {
        INSTANCE;

        @Override
        public void added(Lane lane, long address, long byteSize) {}

        @Override
        public void removing(Lane lane, long address) {}
    }

    private final class OtherRegions implements Lane.RegionWatch {
        @Override
        public void added(Lane lane, long address, long byteSize) {
            synchronized (lock) {
                regions = regions.with(address, byteSize, lane);
            }
        }

        @Override
        public void removing(Lane lane, long address) {
            synchronized (lock) {
                if (regions.isStart(address)) {
                    regions = regions.without(address);
                }
            }
        }
    }

    // ---- allocating

    @Override
    public long alloc(long byteSize) {
        try {
            return main.arena().alloc(byteSize);
        } catch (OutOfMemoryException e) {
            return fromOtherLanes(byteSize, main, lane -> lane.arena().alloc(byteSize), e);
        }
    }

    @Override
    public long reserve(long byteSize) {
        try {
            return main.arena().reserve(byteSize);
        } catch (OutOfMemoryException e) {
            return giveBackAndRetry(byteSize, () -> main.arena().reserve(byteSize), e);
        }
    }

    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        if (!(stream instanceof CudaSyncStream cudaStream)
                || cudaStream.device().ordinal() != device.ordinal()) {
            throw new IllegalArgumentException(stream + " is not a stream of " + device);
        }
        requireOpen(cudaStream);
        final Lane lane = laneOf(cudaStream);
        long address;
        try {
            address = lane == main
                    ? main.allocInSight(byteSize, cudaStream)
                    : lane.arena().allocOnStream(byteSize, cudaStream);
        } catch (OutOfMemoryException e) {
            address = fromOtherLanes(byteSize, lane, other -> other.arena().allocOnStream(byteSize, cudaStream), e);
        }
        if (cudaStream.isClosed()) {
            takeBack(address, cudaStream);
        }
        return address;
    }

    private static void requireOpen(CudaSyncStream stream) {
        if (stream.isClosed()) {
            throw new IllegalStateException(stream + " is closed");
        }
    }

    /** The stream was closed meanwhile, and perhaps untied before the memory was tied to it. */
    private void takeBack(long address, CudaSyncStream stream) {
        free(address);
        if (stream.awaitEnd()) {
            releaseStream(stream);
        }
        requireOpen(stream);
    }

    // ---- lanes

    private Lane laneOf(CudaSyncStream stream) {
        final Lane lane = table.find(stream.id(), main);
        return lane == main && main.isBusyWithOther(stream) ? meet(stream) : lane;
    }

    /** Counts a meeting in the main lane, and gives the stream a lane of its own if it was one too many. */
    private Lane meet(CudaSyncStream stream) {
        synchronized (lock) {
            return meetings.merge(stream.id(), 1, Integer::sum) < MEETINGS ? main : moveOut(stream);
        }
    }

    /** Gives a stream a lane of its own, if it has none. */
    Lane moveOut(SyncStream stream) {
        synchronized (lock) {
            meetings.remove(stream.id());
            final Lane present = table.find(stream.id(), main);
            if (present != main) {
                return present;
            }
            final Lane lane = vacantLane();
            table = table.with(stream.id(), lane);
            return lane;
        }
    }

    private Lane vacantLane() {
        for (Lane lane : lanes) {
            if (lane != main && !table.uses(lane)) {
                return lane;
            }
        }
        final Lane lane = new Lane(upstream, budget, config, new OtherRegions());
        lanes.add(lane);
        return lane;
    }

    int laneCount() {
        return lanes.size();
    }

    // ---- pressure

    /** Asks the other lanes, and then for what they give back. */
    private long fromOtherLanes(long byteSize, Lane own, ToLongFunction<Lane> request, OutOfMemoryException refusal) {
        for (Lane lane : lanes) {
            if (lane != own) {
                try {
                    return request.applyAsLong(lane);
                } catch (OutOfMemoryException e) {
                    refusal.addSuppressed(e);
                }
            }
        }
        return giveBackAndRetry(byteSize, () -> request.applyAsLong(own), refusal);
    }

    /** Lets every lane give back its free regions, where there are several, and asks once more. */
    private long giveBackAndRetry(long byteSize, LongSupplier request, OutOfMemoryException refusal) {
        if (lanes.size() == 1) {
            numFailedAllocs.incrementAndGet();
            throw refusal;
        }
        try {
            shrink();
            return request.getAsLong();
        } catch (OutOfMemoryException e) {
            numFailedAllocs.incrementAndGet();
            throw ofAllLanes(e, byteSize);
        } catch (AllocatorException e) {
            numFailedAllocs.incrementAndGet();
            refusal.addSuppressed(e);
            throw refusal;
        }
    }

    /** A refusal with the numbers of all lanes. */
    private OutOfMemoryException ofAllLanes(OutOfMemoryException refusal, long byteSize) {
        final AllocatorStats stats = stats();
        final Shortage shortage = new Shortage(
                info(),
                byteSize,
                refusal.shortage().rounded(),
                stats.limit(),
                stats.bytesInUse(),
                stats.bytesHeld(),
                refusal.shortage().largestFree(),
                refusal.shortage().deviceFree());
        return new OutOfMemoryException(
                "No memory, also after " + lanes.size() + " lanes gave back what was free",
                shortage,
                refusal.dump(),
                refusal);
    }

    // ---- the rest

    @Override
    public void free(long address) {
        regions.find(address, main).arena().free(address);
    }

    @Override
    public void endRun(SyncStream stream) {
        for (Lane lane : lanes) {
            lane.arena().endRun(stream);
        }
    }

    @Override
    public void releaseStream(SyncStream stream) {
        for (Lane lane : lanes) {
            lane.arena().releaseStream(stream);
        }
        if (stream instanceof CudaSyncStream cudaStream && cudaStream.isClosed()) {
            synchronized (lock) {
                table = table.without(stream.id());
                meetings.remove(stream.id());
            }
        }
    }

    @Override
    public ShrinkReport shrink() {
        final ShrinkReport[] sum = {new ShrinkReport(0, 0, 0, 0, 0)};
        forAllLanes(lane -> {
            final ShrinkReport report = lane.arena().shrink();
            sum[0] = new ShrinkReport(
                    sum[0].bytesReleased() + report.bytesReleased(),
                    sum[0].regionsReleased() + report.regionsReleased(),
                    sum[0].bytesHeld() + report.bytesHeld(),
                    sum[0].regionsInUse() + report.regionsInUse(),
                    sum[0].regionsKept() + report.regionsKept());
        });
        return sum[0];
    }

    /** Does something with every lane, and throws the first failure in the end. */
    private void forAllLanes(Consumer<Lane> action) {
        RuntimeException failure = null;
        for (Lane lane : lanes) {
            failure = attempt(() -> action.accept(lane), failure);
        }
        if (failure != null) {
            throw failure;
        }
    }

    private static @Nullable RuntimeException attempt(Runnable action, @Nullable RuntimeException before) {
        try {
            action.run();
            return before;
        } catch (RuntimeException e) {
            if (before == null) {
                return e;
            }
            before.addSuppressed(e);
            return before;
        }
    }

    @Override
    public AllocatorStats stats() {
        final List<AllocatorStats> each =
                lanes.stream().map(lane -> lane.arena().stats()).toList();
        final long held = sum(each, AllocatorStats::bytesHeld);
        final long peakHeld = each.size() == 1 ? each.getFirst().peakBytesHeld() : Math.max(held, budget.peakHeld());
        return new AllocatorStats.Builder()
                .limit(budget.limit())
                .inUse(
                        sum(each, AllocatorStats::bytesInUse),
                        sum(each, AllocatorStats::requestedBytesInUse),
                        sum(each, AllocatorStats::peakBytesInUse))
                .held(held, peakHeld)
                .free(sum(each, AllocatorStats::freeBytes), max(each, AllocatorStats::largestFreeChunk))
                .calls(
                        sum(each, AllocatorStats::numAllocs),
                        sum(each, AllocatorStats::numReserves),
                        numFailedAllocs.get(),
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

    @Override
    public AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    @Override
    public MemoryInfo info() {
        return upstream.info();
    }

    @Override
    public int spiLevel() {
        return SpiLevel.SHRINK;
    }

    @Override
    public void destroy() {
        try {
            forAllLanes(lane -> lane.arena().close());
        } finally {
            upstream.destroy();
        }
    }

    @Override
    public String toString() {
        return "the arena of " + info();
    }
}
