package allocator.arena.plan;

import allocator.arena.upstream.StreamWork;
import allocator.provider.support.internal.BriefLock;
import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorSnapshot;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.InspectableAllocator;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.PagedReserves;
import allocator.spi.RemappableReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An allocator that follows plans, over any other one: calls that come in a plan's order with its sizes get the plan's
 * offsets in one reserve of the wrapped allocator, which serves all other calls. The reserve is taken when the first
 * planned call comes. It is returned by a shrink, by a close, and where a request lacks memory, once nothing in it is
 * live.
 *
 * <p>Statistics, reports and snapshots show the planned memory once: its blocks as blocks, its rest as free, and no
 * reserve; only the peak of bytes in use and the largest block have the whole reserve in them. What the wrapped
 * allocator adds to a reserve, such as a header, is in use. Of a wrapped allocator without snapshots the planned memory
 * alone is shown.
 *
 * <p>It knows streams if the wrapped allocator does ({@link #as}). A range of offsets whose ends no planned block
 * crosses serves one stream at a time. It passes to another requester once nothing in it is live and the stream's run
 * or the stream itself has ended; until then the wrapped allocator serves the other requester's calls.
 *
 * <p>All threads share the plans and their lock. Where 16 calls of one run wait for those of other threads, there is no
 * order to follow: the wrapped allocator serves the next 100,000 calls, or all until a stream's run ends or a shrink.
 *
 * <p>Providers extend it where their memory has further capabilities, such as host access, and call {@link #close}
 * before they close the wrapped allocator. Safe for use by several threads.
 */
public class PlannedAllocator implements StreamAwareAllocator, ShrinkableAllocator, InspectableAllocator {
    private static final Logger LOG = System.getLogger(PlannedAllocator.class.getName());
    private static final long NO_ADDRESS = PlannedMemory.NO_ADDRESS;

    /** What was logged: allocators that are created in turn, as by a replay, differ from a plan in the same way. */
    private static final Set<String> LOGGED = ConcurrentHashMap.newKeySet();

    /** The most different warnings of a process; it is the end of them. */
    private static final int MOST_LOGGED = 100;

    /** How many calls of a run may wait for the lock, and how many calls are not planned after that. */
    private static final int MOST_CONTENDED = 16;

    private static final int CALLS_TO_REST = 100_000;

    private final Allocator wrapped;

    /** {@code null} if the wrapped allocator does not know streams. */
    private final @Nullable StreamAwareAllocator onStreams;

    /** Guards the memory and the statistics. The wrapped allocator and streams that work are not called under it. */
    private final BriefLock lock = new BriefLock();

    /** Held while the memory comes or goes. Taken before the other lock. */
    private final ReentrantLock moveLock = new ReentrantLock();

    private final PlannedMemory memory;
    private final PlannedStats stats;

    /** How many calls are not to be planned. Threads may count some of them together. */
    private int callsToRest;

    /** The calls of the latest run that waited for the lock. */
    private int contended;

    private long runOfContended;

    /** Whether the first mismatch is to be logged. */
    private volatile boolean hasNews;

    private boolean hasWarned;

    /**
     * Creates an allocator that holds no memory for its plans yet.
     *
     * @param wrapped serves what is not planned; not closed by this allocator
     * @param plans the plans, at least one
     * @throws IllegalArgumentException if there is no plan, or the alignment of the memory is greater than
     *     {@link OptionKey#SIZE_GRANULARITY}
     */
    public PlannedAllocator(Allocator wrapped, ArenaPlans plans) {
        this.wrapped = wrapped;
        if (plans.isEmpty() || wrapped.info().byteAlignment() > OptionKey.SIZE_GRANULARITY) {
            throw new IllegalArgumentException("no plan to follow for " + wrapped.info() + ": " + plans);
        }
        onStreams = wrapped.as(StreamAwareAllocator.class).orElse(null);
        memory = new PlannedMemory(plans.table(), wrapped.info());
        stats = new PlannedStats(memory);
    }

    @Override
    public final long alloc(long byteSize) {
        return allocate(byteSize, null);
    }

    /**
     * {@inheritDoc}
     *
     * @throws UnsupportedOperationException if the wrapped allocator does not know streams
     */
    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        return stream.hasEnded() ? unplanned(byteSize, stream) : allocate(byteSize, stream);
    }

    @Override
    public final boolean isOrderedByDevice() {
        return onStreams != null && onStreams.isOrderedByDevice();
    }

    @Override
    public <T> Optional<T> as(Class<T> capability) {
        if (capability == PagedReserves.class || capability == RemappableReserves.class) {
            return wrapped.as(capability);
        }
        return capability == StreamAwareAllocator.class && onStreams == null
                ? Optional.empty()
                : StreamAwareAllocator.super.as(capability);
    }

    /** Allocates a planned block, or lets the wrapped allocator serve the call. */
    private long allocate(long byteSize, @Nullable SyncStream stream) {
        final long planned = takePlanned(byteSize, stream);
        if (planned != NO_ADDRESS) {
            return planned;
        }
        try {
            return unplanned(byteSize, stream);
        } catch (OutOfMemoryException e) {
            return afterReturn(e, () -> unplanned(byteSize, stream));
        }
    }

    private long unplanned(long byteSize, @Nullable SyncStream stream) {
        if (stream == null) {
            return wrapped.alloc(byteSize);
        }
        if (onStreams == null) {
            throw new UnsupportedOperationException(wrapped + " does not know streams");
        }
        return onStreams.allocOnStream(byteSize, stream);
    }

    private long takePlanned(long byteSize, @Nullable SyncStream stream) {
        if (byteSize <= 0 || byteSize > OptionKey.MAX_SIZE || rests()) {
            return NO_ADDRESS;
        }
        long address = take(byteSize, stream);
        if (address == PlannedMemory.WANTED) {
            obtain();
            address = take(byteSize, stream);
        }
        if (address == NO_ADDRESS && hasNews) {
            logNews();
        }
        return address == PlannedMemory.WANTED ? NO_ADDRESS : address;
    }

    private long take(long byteSize, @Nullable SyncStream stream) {
        final boolean waited = lock.lock();
        try {
            final long address = memory.take(byteSize, stream);
            if (waited) {
                contended();
            }
            if (address == NO_ADDRESS && memory.course.mismatches() > 0 && !hasWarned) {
                hasWarned = true;
                hasNews = true;
            }
            return address;
        } finally {
            lock.unlock();
        }
    }

    private boolean rests() {
        final int calls = callsToRest;
        if (calls > 0) {
            callsToRest = calls - 1;
        }
        return calls > 0;
    }

    private void contended() {
        contended = runOfContended == memory.course.runs() ? contended + 1 : 1;
        runOfContended = memory.course.runs();
        if (contended == MOST_CONTENDED) {
            contended = 0;
            callsToRest = CALLS_TO_REST;
        }
    }

    /**
     * Takes the memory, unless there is no room for it: then the run is for the wrapped allocator to serve. So it is
     * while another thread takes or returns the memory.
     */
    private void obtain() {
        if (moveLock.isHeldByCurrentThread() || !moveLock.tryLock()) {
            locked(memory::unavailable);
            return;
        }
        try {
            if (memory.base() == NO_ADDRESS) {
                obtainFrom(wrapped.stats());
            }
        } finally {
            moveLock.unlock();
        }
    }

    private void obtainFrom(AllocatorStats before) {
        final long height = memory.table.height();
        if (before.limit() != AllocatorStats.UNLIMITED && height > before.limit() - before.bytesHeld()) {
            locked(memory::unavailable);
            return;
        }
        try {
            attach(wrapped.reserve(height), true);
        } catch (OutOfMemoryException e) {
            locked(() -> {
                stats.failureHidden();
                memory.unavailable();
            });
        }
    }

    /** Enters the memory, new or as before. Needs no Java heap. */
    private void attach(long base, boolean isNew) {
        lock.lock();
        try {
            if (isNew) {
                stats.attached();
            }
            memory.attach(base);
        } finally {
            lock.unlock();
        }
    }

    /** Frees the memory, which was left; it is there as before if the Java heap ends in the free. */
    private void freeLeft(long base) {
        try {
            wrapped.free(base);
        } catch (OutOfMemoryError e) {
            attach(base, false);
            throw e;
        }
    }

    private void locked(Runnable work) {
        computed(() -> {
            work.run();
            return true;
        });
    }

    private <T> T computed(Supplier<T> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            lock.unlock();
        }
    }

    /** Makes a call again that failed for lack of memory, if idle planned memory could be returned. */
    private long afterReturn(OutOfMemoryException failure, LongSupplier call) {
        try {
            if (giveBack(true) == 0) {
                throw computed(() -> stats.with(failure));
            }
        } catch (DeviceException e) {
            failure.addSuppressed(e);
            throw computed(() -> stats.with(failure));
        }
        locked(stats::failureHidden);
        try {
            return call.getAsLong();
        } catch (AllocatorException e) {
            e.addSuppressed(failure);
            throw e;
        }
    }

    /**
     * Returns the memory, if nothing in it is live, after waiting for the streams that may still use it; nothing if
     * called from within a call to the wrapped allocator or to a stream.
     *
     * @param isShort whether the memory is needed elsewhere
     * @return the bytes returned
     */
    private long giveBack(boolean isShort) {
        if (moveLock.isHeldByCurrentThread()) {
            return 0;
        }
        moveLock.lock();
        try {
            final long base = memory.base();
            final Map<Long, SyncStream> owners = new LinkedHashMap<>();
            final long frees = computed(() -> {
                memory.blocks.addOwners(owners);
                return memory.blocks.freed();
            });
            owners.values().removeIf(StreamWork::await);
            if (!owners.isEmpty() || !computed(() -> memory.detach(frees, isShort))) {
                return 0;
            }
            freeLeft(base);
            return memory.table.height();
        } finally {
            moveLock.unlock();
        }
    }

    @Override
    public final void free(long address) {
        if (memory.contains(address)) {
            lock.lock();
            try {
                memory.free(address);
            } finally {
                lock.unlock();
            }
            return;
        }
        wrapped.free(address);
        if (address != NO_ADDRESS && callsToRest == 0) {
            memory.course.freedByOthers();
        }
    }

    @Override
    public final long reserve(long byteSize) {
        try {
            return wrapped.reserve(byteSize);
        } catch (OutOfMemoryException e) {
            return afterReturn(e, () -> wrapped.reserve(byteSize));
        }
    }

    @Override
    public final MemoryInfo info() {
        return wrapped.info();
    }

    @Override
    public final int spiLevel() {
        return SpiLevel.SHRINK;
    }

    @Override
    public final AllocatorOptions effectiveOptions() {
        return wrapped.effectiveOptions();
    }

    @Override
    public final AllocatorStats stats() {
        while (true) {
            final long moves = memory.moves();
            final AllocatorStats of = wrapped.stats();
            lock.lock();
            try {
                if (memory.moves() == moves) {
                    return stats.with(of);
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>Returns the planned memory, and shrinks the wrapped allocator if that can be shrunk.
     */
    @Override
    public final ShrinkReport shrink() {
        final Failures failures = new Failures();
        final long[] released = new long[1];
        failures.run(() -> released[0] = giveBackCounted());
        locked(this::restart);
        final ShrinkReport[] report = new ShrinkReport[1];
        failures.run(() ->
                report[0] = wrapped.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable
                        ? shrinkable.shrink()
                        : new ShrinkReport(0, 0, wrapped.stats().bytesHeld(), 0, 0));
        failures.throwIfAny();
        return PlannedReport.of(memory, released[0], report[0]);
    }

    /** Returns the memory, and how many bytes of it the device has taken back, if the wrapped allocator counts them. */
    private long giveBackCounted() {
        final long held = wrapped.stats().bytesHeld();
        final long given = giveBack(false);
        return held < given ? given : Math.clamp(held - wrapped.stats().bytesHeld(), 0, given);
    }

    private void restart() {
        callsToRest = 0;
        if (memory.base() == NO_ADDRESS) {
            memory.restart();
        }
    }

    @Override
    public final AllocatorSnapshot inspect() {
        final PlannedReport report = computed(() -> new PlannedReport(memory));
        return wrapped.as(InspectableAllocator.class).orElse(null) instanceof InspectableAllocator inspectable
                ? report.within(inspectable.inspect())
                : report.alone();
    }

    /**
     * Makes what a stream has freed of the planned memory so far free for all (T-04), and lets the next call begin a
     * run of a plan. A provider's streams call it at run end, once their work is done; the wrapped allocator learns of
     * it by itself.
     *
     * @param stream the stream; nothing is freed if it has no memory here
     */
    public void endRun(SyncStream stream) {
        streamEnded(stream, false);
    }

    /**
     * Makes what a stream has freed of the planned memory, and what it frees later, free for all. A provider's streams
     * call it at close, once their work is done; the wrapped allocator learns of it by itself.
     *
     * @param stream the stream; nothing is freed if it has no memory here
     */
    public void releaseStream(SyncStream stream) {
        streamEnded(stream, true);
    }

    private void streamEnded(SyncStream stream, boolean isReleased) {
        locked(() -> {
            memory.endRun(stream, isReleased);
            callsToRest = 0;
        });
    }

    /**
     * Returns the planned memory, live or not, once the streams that own memory there are done; from then on the
     * wrapped allocator serves all calls. The provider calls it when the last reference is released, before it closes
     * the wrapped allocator. A second call tries again what the end of the Java heap prevented, or does nothing.
     *
     * @throws DeviceException if waiting for a stream fails; the memory is returned nevertheless
     */
    public final void close() {
        moveLock.lock();
        try {
            final Map<Long, SyncStream> owners = new LinkedHashMap<>();
            locked(memory::close);
            locked(() -> memory.blocks.addOwners(owners));
            final Failures failures = new Failures();
            owners.values().forEach(owner -> failures.run(() -> StreamWork.await(owner)));
            final long base = memory.base();
            if (base != NO_ADDRESS) {
                locked(memory::leave);
                failures.run(() -> freeLeft(base));
            }
            failures.throwIfAny();
        } finally {
            moveLock.unlock();
        }
    }

    /**
     * Logs the first mismatch, if that is possible: the caller's memory comes first. One that another allocator of the
     * process has logged is not logged again.
     */
    private void logNews() {
        hasNews = false;
        try {
            final String mismatch = info() + ": " + this.<String>computed(memory.course::describeMismatch);
            if (isNew(mismatch)) {
                LOG.log(
                        Level.WARNING,
                        "{0}. The rest of the run is served without the plan; other mismatches are only counted",
                        mismatch);
            }
        } catch (Throwable e) {
            // A logger may throw anything, and so may the end of the Java heap.
        }
    }

    /** Returns whether a warning is to be logged: no allocator of the process has logged it. */
    static boolean isNew(String mismatch) {
        return LOGGED.size() < MOST_LOGGED && LOGGED.add(mismatch);
    }
}
