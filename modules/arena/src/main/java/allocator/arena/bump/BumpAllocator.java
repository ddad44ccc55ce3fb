package allocator.arena.bump;

import allocator.arena.upstream.Rehearsal;
import allocator.arena.upstream.StreamWork;
import allocator.provider.support.Failures;
import allocator.provider.support.InvalidFrees;
import allocator.provider.support.Limit;
import allocator.provider.support.LiveSizes;
import allocator.provider.support.StackReserve;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorSnapshot.Chunk;
import allocator.spi.AllocatorSnapshot.State;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Allocates blocks by bumping a pointer through regions. A region is reset, and reused, once every block in it has been
 * freed; one surviving block pins its region. Suits the scratch memory of sessions, which is allocated during a run and
 * freed by its end: such a run costs one reset for each region it used.
 *
 * <p>A <em>lane</em> is the regions of one stream, or those of requests without a stream. A region is <em>idle</em> if
 * it belongs to no lane, or is empty and belongs to the lane without a stream. A lane whose current region has no room
 * tries, in order:
 *
 * <ol>
 *   <li>another region of its own;
 *   <li>an idle region, or an empty region of a stream that the lane's stream has waited for since the last free in it;
 *   <li>a new region, within {@link BumpConfig};
 *   <li>memory for this request alone, within the limit of the allocator;
 *   <li>the two before once more, after all idle regions have been given back.
 * </ol>
 *
 * <p>Memory taken for one request goes back to the device when its block is freed, or, on a stream, when the run ends.
 * At the end of a run the empty regions of its stream become idle; when a stream closes, its other regions go to the
 * lane without a stream. So memory reaches another lane only after the work that used it.
 *
 * <p>An allocation that fits the current region takes constant time. What else is allocated, freed, ended or closed
 * takes time logarithmic in the number of regions and blocks, for each region that passes from one lane to another or
 * to the device; a request that takes another region also takes time proportional to the number of streams that its
 * stream has waited for, or of all streams if they are fewer. A shrink, statistics and a request for which there is no
 * memory visit all streams and regions.
 *
 * <p>Safe for use by several threads. One lock guards the allocator and is held while the device is called. An
 * allocation that fits its lane's region allocates no Java object. {@link BumpArena} frees all blocks at once and is
 * several times faster.
 */
// One class, since its calls share one lock, one upstream memory and one set of counters.
public class BumpAllocator implements StreamAwareAllocator, ShrinkableAllocator, InspectableAllocator {
    private static final Rehearsal REHEARSAL = new Rehearsal(BumpAllocator::rehearse);

    private final UpstreamMemory memory;
    private final BumpLanes lanes;
    private final BumpLane common;
    private final AllocatorOptions effectiveOptions;
    private final long byteAlignment;
    private final Object lock = new Object();

    /** Held while a close waits for streams and returns memory. Taken before the lock. */
    private final ReentrantLock closeLock = new ReentrantLock();

    private final LiveSizes reserves = new LiveSizes();
    private final BumpCounters counters = new BumpCounters();
    private boolean closed;

    /**
     * Makes an allocator, which holds no memory before the first allocation.
     *
     * <p>Several allocators may share an upstream allocator.
     *
     * @param upstream the device; the allocator does not close it
     * @param config sizes and limit of the regions
     * @param maxMem limit of all memory held, reserves included, in bytes; {@code 0} means no limit
     * @param effectiveOptions the effective settings, {@linkplain AllocatorOptions#resolve resolved} for every key
     * @throws IllegalArgumentException if {@code maxMem} is negative
     */
    public BumpAllocator(Allocator upstream, BumpConfig config, long maxMem, AllocatorOptions effectiveOptions) {
        this.memory = new UpstreamMemory(upstream, new Limit(maxMem));
        this.lanes = new BumpLanes(memory, Objects.requireNonNull(config, "config"));
        this.common = lanes.common;
        this.effectiveOptions = Objects.requireNonNull(effectiveOptions, "effectiveOptions");
        this.byteAlignment = upstream.info().byteAlignment();
        REHEARSAL.ensure();
    }

    private static void rehearse(Allocator upstream) {
        final BumpAllocator allocator =
                new BumpAllocator(upstream, new BumpConfig(1 << 12, 0, 1 << 12), 0, AllocatorOptions.EMPTY);
        final long block = allocator.alloc(1);
        final long large = allocator.alloc(1 << 13);
        final long reserve = allocator.reserve(1);
        Rehearsal.reject(() -> allocator.alloc(-1));
        Rehearsal.reject(() -> allocator.alloc(1L << 40));
        Rehearsal.reject(() -> allocator.reserve(-1));
        Rehearsal.reject(() -> allocator.reserve(1L << 40));
        Rehearsal.reject(() -> allocator.free(1));
        Rehearsal.reject(() -> allocator.free(block + 1));
        allocator.free(large);
        Rehearsal.reject(() -> allocator.free(large));
        allocator.free(block);
        allocator.free(reserve);
        allocator.stats();
        allocator.shrink();
        allocator.close();
        Rehearsal.reject(() -> allocator.alloc(1));
    }

    @Override
    public final long alloc(long byteSize) {
        synchronized (lock) {
            return allocate(byteSize, common);
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if {@code stream} belongs to another device
     */
    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        requireSameDevice(stream);
        synchronized (lock) {
            return allocate(byteSize, lanes.laneOf(stream));
        }
    }

    private void requireSameDevice(SyncStream stream) {
        final MemoryLocation ours = info().location();
        final MemoryLocation theirs = stream.memory().location();
        if (theirs.deviceType() != ours.deviceType()
                || theirs.vendorId() != ours.vendorId()
                || theirs.deviceOrdinal() != ours.deviceOrdinal()) {
            throw new IllegalArgumentException(stream + " cannot order memory of " + info());
        }
    }

    private long allocate(long byteSize, BumpLane lane) {
        requireRequest(byteSize);
        if (byteSize == 0) {
            return 0;
        }
        final BlockRegion current = lane.current;
        final long address = current == null ? 0 : current.bump(byteSize, byteAlignment, counters);
        return address != 0 ? address : allocateElsewhere(byteSize, lane);
    }

    private void requireRequest(long byteSize) {
        requireOpen();
        BumpRequest.requireSize(byteSize, byteAlignment);
    }

    private long allocateElsewhere(long byteSize, BumpLane lane) {
        final long address = lanes.allocate(byteSize, lane, counters);
        if (address == 0) {
            throw outOfMemory(byteSize, lane);
        }
        return address;
    }

    @Override
    public final void free(long address) {
        synchronized (lock) {
            requireOpen();
            if (address == 0) {
                return;
            }
            final BlockRegion region = lanes.find(address);
            if (region == null) {
                freeReserve(address);
                return;
            }
            lanes.free(region, address, counters);
        }
    }

    private void freeReserve(long address) {
        final long byteSize = reserves.sizeOf(address);
        if (byteSize == LiveSizes.NONE) {
            throw InvalidFrees.diagnose(reserves, address, info());
        }
        memory.prepareReturns(1);
        reserves.remove(address);
        counters.bytesInUse -= byteSize;
        memory.giveBack(address, byteSize);
    }

    @Override
    public final long reserve(long byteSize) {
        synchronized (lock) {
            requireRequest(byteSize);
            if (byteSize == 0) {
                return 0;
            }
            reserves.ensureRoom();
            long address = takeReserve(byteSize);
            if (address == 0 && lanes.releaseIdle(new Failures()) > 0) {
                address = takeReserve(byteSize);
            }
            if (address == 0) {
                throw outOfMemory(byteSize, lanes.common);
            }
            reserves.put(address, byteSize);
            counters.numReserves++;
            counters.numAllocs++;
            counters.bytesInUse += byteSize;
            counters.peakBytesInUse = Math.max(counters.peakBytesInUse, counters.bytesInUse);
            counters.maxAllocSize = Math.max(counters.maxAllocSize, byteSize);
            return address;
        }
    }

    /** Takes memory from the device; returns {@code 0} if the limit or the device has not that much. */
    private long takeReserve(long byteSize) {
        if (byteSize > memory.left()) {
            return 0;
        }
        try {
            return memory.take(byteSize);
        } catch (OutOfMemoryException e) {
            return 0;
        }
    }

    /**
     * Makes the memory freed on a stream available to all streams. Called by the provider's streams at the end of a
     * run, after their work is done.
     *
     * @param stream the stream
     * @throws DeviceException if the device fails to take memory back; the next shrink tries again to return what is
     *     still held
     */
    public final void endRun(SyncStream stream) {
        synchronized (lock) {
            lanes.endRun(stream);
        }
    }

    /**
     * Unbinds all memory from a stream. Called by the provider's streams when they close, after their work is done.
     *
     * @param stream the stream
     * @throws DeviceException if the device fails to take memory back; the next shrink tries again to return what is
     *     still held
     */
    public final void releaseStream(SyncStream stream) {
        synchronized (lock) {
            lanes.releaseStream(stream);
        }
    }

    /**
     * Returns the idle regions to the device, and tries again to return memory that the device failed to take back. An
     * empty region that queued work of a stream may still use stays until the run of that stream ends.
     */
    @Override
    public final ShrinkReport shrink() {
        synchronized (lock) {
            requireOpen();
            final long before = memory.bytesHeld();
            final Failures failures = new Failures();
            final int released = lanes.releaseIdle(failures);
            failures.throwIfAny();
            return lanes.report(before - memory.bytesHeld(), released);
        }
    }

    @Override
    public final MemoryInfo info() {
        return memory.info();
    }

    @Override
    public final int spiLevel() {
        return SpiLevel.SHRINK;
    }

    @Override
    public final AllocatorOptions effectiveOptions() {
        return effectiveOptions;
    }

    @Override
    public final AllocatorStats stats() {
        synchronized (lock) {
            requireOpen();
            return new AllocatorStats.Builder()
                    .limit(memory.limit().toStats())
                    .inUse(counters.bytesInUse, counters.bytesInUse, counters.peakBytesInUse)
                    .held(memory.bytesHeld(), memory.peakBytesHeld())
                    .free(memory.bytesHeld() - counters.bytesInUse, lanes.largestRoom())
                    .calls(counters.numAllocs, counters.numReserves, counters.numFailedAllocs, counters.maxAllocSize)
                    .regions(lanes.countRegions(), lanes.numReleased())
                    .build();
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>A live block has the padding behind it. The room behind the blocks of a stream's region counts as waiting for
     * that stream.
     */
    @Override
    public final AllocatorSnapshot inspect() {
        synchronized (lock) {
            requireOpen();
            final List<Chunk> blocks = new ArrayList<>();
            reserves.forEach((address, byteSize) -> blocks.add(new Chunk(address, byteSize, byteSize, State.LIVE, 0)));
            memory.forEachUnreturned(
                    (address, byteSize) -> blocks.add(new Chunk(address, byteSize, 0, State.UNRETURNED, 0)));
            blocks.sort(Comparator.comparing(Chunk::address, Long::compareUnsigned));
            return new AllocatorSnapshot(lanes.inspect(), blocks);
        }
    }

    private OutOfMemoryException outOfMemory(long byteSize, BumpLane lane) {
        final OutOfMemoryException failure = new OutOfMemoryException(
                "The bump arena has no room for " + byteSize + " bytes"
                        + (memory.limit().isLimited() ? " under " + Limit.KEY.name() : ""),
                new Shortage(
                        info(),
                        byteSize,
                        byteSize,
                        memory.limit().toStats(),
                        counters.bytesInUse,
                        memory.bytesHeld(),
                        lanes.largestRoom(lane),
                        memory.deviceFree()));
        counters.numFailedAllocs++;
        return failure;
    }

    /**
     * Returns all memory to the device, live or not, after the streams that have memory here are done. Called by the
     * provider when the last reference is released. A second call tries again to return what the device failed to take
     * back, and does nothing if that is nothing.
     *
     * @throws DeviceException if waiting for a stream fails or the device fails to take memory back; the allocator is
     *     closed all the same, and the rest of its memory is returned; as is anything else that the device throws
     */
    public final void close() {
        StackReserve.touch();
        if (closeLock.isHeldByCurrentThread()) {
            throw new IllegalStateException(this + " is in a call to a stream, which may not close it");
        }
        closeLock.lock();
        try {
            final Failures failures = new Failures();
            final List<SyncStream> streams = beginClose();
            for (int i = 0; i < streams.size(); i++) { // without Java heap, which may have ended
                try {
                    StreamWork.await(streams.get(i));
                } catch (Throwable e) {
                    failures.add(e);
                }
            }
            returnAll(failures);
            failures.throwIfAny();
        } finally {
            closeLock.unlock();
        }
    }

    /** Makes room for all returns, closes this allocator, and returns the streams to wait for. */
    private List<SyncStream> beginClose() {
        synchronized (lock) {
            memory.requireNotInUpstream();
            memory.prepareReturns(reserves.count() + lanes.countRegions());
            final List<SyncStream> streams = lanes.streams();
            closed = true;
            return streams;
        }
    }

    private void returnAll(Failures failures) {
        synchronized (lock) {
            memory.returnAgain(failures);
            memory.prepareReturns(reserves.count() + lanes.countRegions());
            reserves.forEach((address, byteSize) -> {
                reserves.remove(address);
                counters.bytesInUse -= byteSize;
                failures.add(memory.giveBack(address, byteSize));
            });
            lanes.releaseAll(failures);
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new AllocatorClosedException("the bump arena of " + info() + " is closed");
        }
    }

    @Override
    public String toString() {
        return "bump arena of " + info();
    }
}
