package allocator.onnxruntime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import jdk.jfr.EventType;
import org.jspecify.annotations.Nullable;

/**
 * An allocator of ours as ONNX Runtime sees it: accounts for what one session, or one environment, has of it.
 *
 * <p>Its methods are called from native code, from any thread. What the allocator throws becomes a refusal, a line in
 * the log and an {@link AllocationFailure}, which the next Java call fetches. Where a refusal cannot be told to ONNX
 * Runtime (see {@link ThrowingThunk}), the session is lent system memory instead, beyond every limit, and the failure
 * is reported all the same; such memory goes back as soon as it is freed.
 *
 * <p>A free of something that is not live here is reported and goes no further.
 */
final class ExportedAllocator {
    /** What every refusal says to ONNX Runtime, and ONNX Runtime in the message of its exception. */
    static final String REFUSED = "refused memory; the cause of this exception has the numbers";

    private static final Logger LOG = System.getLogger(ExportedAllocator.class.getName());
    private static final EventType ALLOCATION = EventType.getEventType(SessionEvents.Allocation.class);
    private static final EventType FREE = EventType.getEventType(SessionEvents.Free.class);
    private static final int MAX_FAILURES = 64;
    private static final int MAX_DUMPED_SIZES = 16;

    private final String session;
    private final String model;
    private final Allocator target;
    private final Budget budget;
    private final BlockSizes blocks = new BlockSizes();

    /** Where each lent block, which begins at a multiple of the alignment, was allocated. */
    private final BlockSizes lent = new BlockSizes();

    private final LongAdder allocations = new LongAdder();
    private final LongAdder reserves = new LongAdder();
    private final LongAdder refusals = new LongAdder();
    private final AtomicLong maxSize = new AtomicLong();

    /** The failures that no Java call has fetched yet, oldest first. Guards itself. */
    private final Deque<AllocationFailure> failures = new ArrayDeque<>();

    private final long struct;
    private volatile @Nullable AllocationFailure lastFailure;
    private volatile boolean isRegistered;
    private boolean isClosed;

    /**
     * Exports an allocator.
     *
     * @param target the allocator, which stays the caller's
     * @param session whose memory it is, for a person
     * @param model the model's name, for a person
     */
    ExportedAllocator(Allocator target, Budget budget, String session, String model) {
        this.target = target;
        this.budget = budget;
        this.session = session;
        this.model = model;
        struct = ExportedStruct.create(
                this, OrtApi.get().version().api(), "the allocator of " + session + " " + REFUSED);
    }

    /** The {@code OrtAllocator}. */
    long struct() {
        return struct;
    }

    String session() {
        return session;
    }

    Budget budget() {
        return budget;
    }

    /** Says whether ONNX Runtime hands this allocator to new sessions. */
    void setRegistered(boolean registered) {
        isRegistered = registered;
    }

    // Called from native code.

    /** Returns a block, or 0 after the refusal was reported. */
    long alloc(long byteSize, boolean isReserve) {
        if (byteSize == 0) {
            return ExportedStruct.EMPTY;
        }
        try {
            final long address = take(byteSize, isReserve);
            (isReserve ? reserves : allocations).increment();
            raiseMaxSize(byteSize);
            if (ALLOCATION.isEnabled()) {
                emitAllocation(address, byteSize, isReserve);
            }
            return address;
        } catch (Throwable e) {
            report(byteSize, e);
            return ThrowingThunk.isSupported() ? 0 : lend(byteSize);
        }
    }

    private long take(long byteSize, boolean isReserve) {
        if (byteSize < 0) {
            // A size_t above the largest long.
            throw InvalidSizeException.negative(byteSize);
        }
        final Budget refusing = budget.take(byteSize);
        if (refusing != null) {
            throw overBudget(byteSize, refusing);
        }
        long address = 0;
        boolean isDone = false;
        try {
            address = isReserve && target.spiLevel() >= SpiLevel.RESERVE
                    ? target.reserve(byteSize)
                    : target.alloc(byteSize);
            requireUsable(address, byteSize);
            blocks.put(address, byteSize);
            budget.granted();
            isDone = true;
            return address;
        } finally {
            if (!isDone) {
                budget.giveBack(byteSize);
                if (address != 0) {
                    target.free(address);
                }
            }
        }
    }

    /** ONNX Runtime's kernels use instructions that want the alignment, and end the process where it is missing. */
    private static void requireUsable(long address, long byteSize) {
        if (address == 0 || address % NativeEnvironment.CPU.byteAlignment() != 0) {
            throw new IllegalStateException("the allocator returned 0x" + Long.toHexString(address) + " for " + byteSize
                    + " bytes; a block begins at a multiple of " + NativeEnvironment.CPU.byteAlignment());
        }
    }

    private OutOfMemoryException overBudget(long byteSize, Budget refusing) {
        return new OutOfMemoryException(
                refusing == budget
                        ? "the budget of " + session + " is used up"
                        : "the budget that all sessions share is used up",
                new Shortage(
                        target.info(),
                        byteSize,
                        byteSize,
                        refusing.limit(),
                        refusing.used(),
                        OutOfMemoryException.UNKNOWN,
                        OutOfMemoryException.UNKNOWN,
                        OutOfMemoryException.UNKNOWN));
    }

    private void raiseMaxSize(long byteSize) {
        long seen = maxSize.get();
        while (byteSize > seen && !maxSize.compareAndSet(seen, byteSize)) {
            seen = maxSize.get();
        }
    }

    private long lend(long byteSize) {
        final long alignment = target.info().byteAlignment();
        final long base = byteSize < 0 ? 0 : SystemMemory.allocate(byteSize + alignment);
        if (base == 0) {
            return 0;
        }
        final long address = (base + alignment - 1) & -alignment;
        lent.put(address, base);
        return address;
    }

    /** Takes a block back. Never throws. */
    void free(long address) {
        if (address == 0 || address == ExportedStruct.EMPTY) {
            return;
        }
        try {
            final long byteSize = blocks.remove(address);
            if (byteSize == BlockSizes.NONE) {
                freeOther(address);
                return;
            }
            if (FREE.isEnabled()) {
                emitFree(address, byteSize);
            }
            try {
                target.free(address);
            } finally {
                budget.giveBack(byteSize);
            }
        } catch (Throwable e) {
            LOG.log(Level.ERROR, "{0}: free of 0x{1} failed: {2}", session, Long.toHexString(address), e);
        }
    }

    private void freeOther(long address) {
        final long base = lent.remove(address);
        if (base != BlockSizes.NONE) {
            SystemMemory.free(base);
        } else {
            LOG.log(
                    Level.ERROR,
                    "{0} freed 0x{1}, which is not live in its allocator; ignored",
                    session,
                    Long.toHexString(address));
        }
    }

    private void emitAllocation(long address, long byteSize, boolean isReserve) {
        final SessionEvents.Allocation event = new SessionEvents.Allocation();
        event.session = session;
        event.address = address;
        event.byteSize = byteSize;
        event.isReserve = isReserve;
        event.commit();
    }

    private void emitFree(long address, long byteSize) {
        final SessionEvents.Free event = new SessionEvents.Free();
        event.session = session;
        event.address = address;
        event.byteSize = byteSize;
        event.commit();
    }

    // Failures.

    /** Never throws: it runs beneath native code, possibly for lack of heap or stack. */
    private void report(long byteSize, Throwable cause) {
        try {
            refusals.increment();
            final AllocationFailure failure = new AllocationFailure(
                    session,
                    model,
                    byteSize,
                    Thread.currentThread().getName(),
                    Thread.currentThread().threadId(),
                    cause,
                    dump(cause));
            synchronized (failures) {
                if (failures.size() == MAX_FAILURES) {
                    failures.removeFirst();
                }
                failures.addLast(failure);
                lastFailure = failure;
            }
            LOG.log(Level.WARNING, "{0} was refused {1} bytes: {2}", session, byteSize, cause);
            LOG.log(Level.DEBUG, failure::dump);
            final SessionEvents.Refusal event = new SessionEvents.Refusal();
            if (event.isEnabled()) {
                event.session = session;
                event.model = model;
                event.byteSize = byteSize;
                event.reason = String.valueOf(cause.getMessage());
                event.dump = failure.dump();
                event.commit();
            }
        } catch (Throwable e) {
            // The refusal stands, unexplained.
        }
    }

    private String dump(Throwable cause) {
        final StringBuilder text = new StringBuilder();
        text.append("session ").append(session).append(", model ").append(model).append('\n');
        text.append("in use ").append(budget.used()).append(", peak ").append(budget.peak());
        text.append(", budget ")
                .append(budget.limit() < 0 ? "none" : budget.limit())
                .append('\n');
        text.append("live blocks ").append(blocks.count()).append(", largest sizes:");
        blocks.countBySize().descendingMap().entrySet().stream()
                .limit(MAX_DUMPED_SIZES)
                .forEach(entry -> text.append("\n  ")
                        .append(entry.getValue())
                        .append(" of ")
                        .append(entry.getKey()));
        text.append("\nallocator ").append(describeTarget());
        if (cause instanceof OutOfMemoryException exhausted && !exhausted.dump().isEmpty()) {
            text.append('\n').append(exhausted.dump());
        }
        return text.toString();
    }

    private String describeTarget() {
        try {
            return stats(target).toMap().toString();
        } catch (RuntimeException | Error e) {
            return "cannot tell its statistics: " + e;
        }
    }

    /** The oldest failure on this thread that nobody has fetched, or else the oldest of all. */
    Optional<AllocationFailure> takeFailure() {
        final long thread = Thread.currentThread().threadId();
        synchronized (failures) {
            for (final Iterator<AllocationFailure> all = failures.iterator(); all.hasNext(); ) {
                final AllocationFailure failure = all.next();
                if (failure.threadId() == thread) {
                    all.remove();
                    return Optional.of(failure);
                }
            }
            return Optional.ofNullable(failures.pollFirst());
        }
    }

    /** The newest failure, whether or not it was fetched. */
    Optional<AllocationFailure> lastFailure() {
        return Optional.ofNullable(lastFailure);
    }

    // Called from Java.

    /** What has been handed out, in bytes asked for; the limit is the budget. */
    AllocatorStats stats() {
        final long used = budget.used();
        final long peak = Math.max(used, budget.peak());
        final long reserved = reserves.sum();
        return new AllocatorStats.Builder()
                .limit(budget.limit())
                .inUse(used, used, peak)
                .held(used, peak)
                .calls(allocations.sum() + reserved, reserved, refusals.sum(), maxSize.get())
                .build();
    }

    /** How many blocks ONNX Runtime has. */
    int liveBlocks() {
        return blocks.count() + lent.count();
    }

    /** Returns unused memory of the allocator to the system, as far as it can. */
    ShrinkReport shrink() {
        try {
            return shrink(target);
        } catch (RuntimeException e) {
            LOG.log(Level.WARNING, "the allocator of " + session + " cannot shrink", e);
            throw e;
        }
    }

    /** Shrinks an allocator that can; of others nothing is released. */
    static ShrinkReport shrink(Allocator allocator) {
        if (allocator instanceof ShrinkableAllocator shrinkable && allocator.spiLevel() >= SpiLevel.SHRINK) {
            return shrinkable.shrink();
        }
        return new ShrinkReport(0, 0, stats(allocator).bytesHeld(), 0, 0);
    }

    /** The statistics of an allocator that keeps some. */
    static AllocatorStats stats(Allocator allocator) {
        return allocator.spiLevel() >= SpiLevel.STATISTICS ? allocator.stats() : AllocatorStats.NONE;
    }

    /** Why this cannot be closed now, or {@code null}. */
    @Nullable
    String obstacle() {
        final int live = liveBlocks();
        if (isRegistered) {
            return "the allocator of " + session + " is registered with the environment";
        }
        if (live > 0) {
            return "ONNX Runtime holds " + live + " blocks, " + budget.used() + " bytes, of " + session
                    + "; close its results and tensors";
        }
        return null;
    }

    /**
     * Ends the export; whoever still has the struct is refused memory from here on. A second call does nothing.
     *
     * @throws IllegalStateException if it is registered, or ONNX Runtime holds blocks of it; nothing changes then
     */
    synchronized void close() {
        if (isClosed) {
            return;
        }
        final String obstacle = obstacle();
        if (obstacle != null) {
            throw new IllegalStateException(obstacle);
        }
        ExportedStruct.retire(struct);
        isClosed = true;
    }
}
