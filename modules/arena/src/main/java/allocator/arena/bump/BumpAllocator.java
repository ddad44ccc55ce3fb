package allocator.arena.bump;

import allocator.arena.upstream.StreamWork;
import allocator.provider.support.Limit;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.SameDevice;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.PagedReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Allocates blocks by bumping a pointer through regions. A region is reset, and reused, once every block in it has been
 * freed; one surviving block pins its region. Suits the scratch memory of sessions, which is allocated during a run and
 * freed by its end: such a run costs one reset for each region it used.
 *
 * <p>A <em>lane</em> is the regions of one stream, or those of requests without a stream. A region is <em>idle</em> if
 * it is empty and belongs to the lane without a stream. A lane whose current region has no room tries, in order:
 *
 * <ol>
 *   <li>another region of its own: of the 64 that it left last, the one with the least room, or else an empty one;
 *   <li>an idle region;
 *   <li>an empty region of a stream that the lane's stream has waited for since the last free in it;
 *   <li>a new region, within {@link BumpConfig};
 *   <li>memory for this request alone, within the limit of the allocator;
 *   <li>any other region of its own that has room;
 *   <li>(4) and (5) once more, after all idle regions have been given back.
 * </ol>
 *
 * <p>Of the empty regions of a lane it takes the smallest that fits among the 64 that became empty last, or else any
 * that fits.
 *
 * <p>Memory taken for one request goes back to the device when its block is freed, or, on a stream, when the run ends.
 * At the end of a run the empty regions of its stream become idle; when a stream closes, its other regions go to the
 * lane without a stream. So memory reaches another lane only after the work that used it.
 *
 * <p>An allocation that fits the current region takes constant time. A request for which a region is taken visits all
 * streams; a region taken from the device or returned to it is moved in a table of all regions. Otherwise a free takes
 * time logarithmic in the number of regions and blocks, and the end of a run visits what it moves. The end of a stream,
 * a shrink, statistics and a request for which there is no memory visit all regions.
 *
 * <p>A free takes effect, whatever the device says. What the upstream allocator throws from a free is logged.
 *
 * <p>The end of the Java heap changes nothing. Where a thread's stack ends within a call, the allocator may be broken:
 * from then on allocations and shrinks throw an {@link IllegalStateException}, frees do nothing, and the close gives
 * all memory back, except what that very call may have been taking from the device.
 *
 * <p>Safe for use by several threads. One lock guards the allocator and is held while the device is called. An
 * allocation that fits its lane's region allocates no Java object. {@link BumpArena} frees all blocks at once and is
 * several times faster.
 */
// One class, since its calls share one lock, one upstream allocator and one set of counters.
public class BumpAllocator implements StreamAwareAllocator, ShrinkableAllocator, InspectableAllocator, PagedReserves {
    private final RegionSource source;
    private final BumpLanes lanes;
    private final Limit limit;
    private final long byteAlignment;
    private final AllocatorOptions effectiveOptions;
    private final Object lock = new Object();

    /** Held while a close waits for streams and returns memory. Taken before the lock. */
    private final Object closeLock = new Object();

    private boolean closed;

    /**
     * Makes an allocator, which holds no memory before the first allocation.
     *
     * <p>Several allocators may share an upstream allocator. A free of it that throws a {@link DeviceException} has
     * taken effect: the memory counts as returned. After anything else the memory stays held and unused, and the close
     * frees it again.
     *
     * @param upstream the device; the allocator does not close it
     * @param config sizes and limit of the regions
     * @param maxMem limit of all memory held, reserves included, in bytes; {@code 0} means no limit
     * @param effectiveOptions the effective settings, {@linkplain AllocatorOptions#resolve resolved} for every key
     * @throws IllegalArgumentException if {@code maxMem} is negative
     */
    public BumpAllocator(Allocator upstream, BumpConfig config, long maxMem, AllocatorOptions effectiveOptions) {
        this.limit = new Limit(maxMem);
        this.source = new RegionSource(upstream, limit);
        this.lanes = new BumpLanes(source, Objects.requireNonNull(config, "config"));
        this.effectiveOptions = Objects.requireNonNull(effectiveOptions, "effectiveOptions");
        this.byteAlignment = info().byteAlignment();
        AllocatorEvents.prepare();
    }

    @Override
    public final long alloc(long byteSize) {
        synchronized (lock) {
            return allocate(byteSize, lanes.common);
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if {@code stream} belongs to another device
     */
    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        SameDevice.require(stream, info());
        synchronized (lock) {
            return allocate(byteSize, lanes.laneOf(stream));
        }
    }

    private long allocate(long byteSize, BumpLane lane) {
        requireRequest(byteSize);
        return byteSize == 0 ? 0 : requireMemory(lanes.allocate(byteSize, lane), byteSize, lane);
    }

    private void requireRequest(long byteSize) {
        requireUsable();
        ChainedArena.requireSize(byteSize, byteAlignment);
    }

    private long requireMemory(long address, long byteSize, BumpLane lane) {
        if (address == 0) {
            throw outOfMemory(byteSize, lane);
        }
        return address;
    }

    @Override
    public final void free(long address) {
        synchronized (lock) {
            requireOpen();
            if (address != 0 && !lanes.isBroken()) {
                lanes.free(address);
            }
        }
    }

    @Override
    public final long reserve(long byteSize) {
        synchronized (lock) {
            requireRequest(byteSize);
            return byteSize == 0 ? 0 : requireMemory(lanes.reserve(byteSize), byteSize, lanes.common);
        }
    }

    @Override
    public final long share(long address) {
        synchronized (lock) {
            requireUsable();
            final PagedReserves reserves = source.reserves();
            return reserves == null ? 0 : lanes.share(address, reserves);
        }
    }

    @Override
    public final long sharedBytes() {
        final PagedReserves reserves = source.reserves();
        return reserves == null ? 0 : reserves.sharedBytes();
    }

    @Override
    public <T> Optional<T> as(Class<T> capability) {
        return capability == PagedReserves.class && source.reserves() == null
                ? Optional.empty()
                : StreamAwareAllocator.super.as(capability);
    }

    /**
     * Makes the memory freed on a stream available to all streams. Called by the provider's streams at the end of a
     * run, after their work is done.
     *
     * @param stream the stream
     */
    public final void endRun(SyncStream stream) {
        synchronized (lock) {
            if (!closed && !lanes.isBroken()) {
                lanes.endRun(stream);
            }
        }
    }

    /**
     * Unbinds all memory from a stream. Called by the provider's streams when they close, after their work is done.
     *
     * @param stream the stream
     */
    public final void releaseStream(SyncStream stream) {
        synchronized (lock) {
            if (!closed && !lanes.isBroken()) {
                lanes.releaseStream(stream);
            }
        }
    }

    /**
     * Returns the idle regions to the device, and offers it again what it did not take back. An empty region that
     * queued work of a stream may still use stays until the run of that stream ends.
     */
    @Override
    public final ShrinkReport shrink() {
        synchronized (lock) {
            requireUsable();
            final long before = source.bytesHeld();
            final int released = lanes.releaseIdle();
            source.returnAgain();
            return lanes.report(before - source.bytesHeld(), released);
        }
    }

    @Override
    public final MemoryInfo info() {
        return source.info();
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
            final long held = source.bytesHeld();
            return lanes.counters
                    .toStats()
                    .limit(limit.toStats())
                    .held(held, source.peakBytesHeld())
                    .free(held - lanes.counters.bytesInUse(), lanes.largestRoom(null))
                    .counters(source.counters())
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
            return lanes.inspect();
        }
    }

    private OutOfMemoryException outOfMemory(long byteSize, BumpLane lane) {
        final OutOfMemoryException failure = new OutOfMemoryException(
                "The bump arena has no room for " + byteSize + " bytes"
                        + (limit.isLimited() ? " under " + Limit.KEY.name() : ""),
                new Shortage(
                        info(),
                        byteSize,
                        byteSize,
                        limit.toStats(),
                        lanes.counters.bytesInUse(),
                        source.bytesHeld(),
                        lanes.largestRoom(lane),
                        source.deviceFree()));
        lanes.counters.failed();
        return failure;
    }

    /**
     * Returns all memory to the device, live or not, after the streams that have memory here are done. Called by the
     * provider when the last reference is released. A second call tries again to return what the upstream allocator
     * failed to take back, and does nothing if that is nothing.
     *
     * @throws DeviceException if waiting for a stream fails, or the upstream allocator failed to take memory back with
     *     anything but a {@code DeviceException}; the allocator is closed, and the rest of its memory is returned; as
     *     is anything else that a stream throws
     */
    public final void close() {
        if (Thread.holdsLock(closeLock)) {
            throw new IllegalStateException(this + " is in a call to a stream, which may not close it");
        }
        synchronized (closeLock) {
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
        }
    }

    private void returnAll(Failures failures) {
        synchronized (lock) {
            lanes.releaseAll();
            failures.run(source::requireNothingHeld);
        }
    }

    /** Closes this allocator, and returns the streams to wait for. */
    private List<SyncStream> beginClose() {
        synchronized (lock) {
            source.requireNotCalled();
            final List<SyncStream> streams = lanes.streams();
            closed = true;
            return streams;
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new AllocatorClosedException("the bump arena of " + info() + " is closed");
        }
    }

    private void requireUsable() {
        requireOpen();
        if (lanes.isBroken()) {
            throw new IllegalStateException(this + " is broken: an error, most likely the end of a thread's stack, "
                    + "ended an earlier call halfway. Blocks can be freed; close it to return its memory");
        }
    }

    @Override
    public String toString() {
        return "bump arena of " + info();
    }
}
