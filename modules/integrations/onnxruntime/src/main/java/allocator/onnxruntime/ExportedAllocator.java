package allocator.onnxruntime;

import allocator.onnxruntime.block.BlockSizes;
import allocator.onnxruntime.block.SessionBudget;
import allocator.onnxruntime.support.SystemMemory;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.provider.support.event.AllocatorEvents;
import allocator.runtime.inspection.BlockSites;
import allocator.runtime.snapshot.BlockName;
import allocator.runtime.snapshot.Snapshot.Site;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.PagedReserves;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An allocator of this project as ONNX Runtime sees it. Counts what one session, or the environment, has allocated.
 *
 * <p>Native code calls {@link #alloc} and {@link #free} on any thread. An exception of the allocator becomes a failed
 * allocation, a line in the log and an {@link AllocationFailure}, which the next Java call takes. Where a failure
 * cannot be returned to ONNX Runtime (see {@link ThrowingThunk}), the session gets system memory instead, beyond every
 * limit, and the failure is reported too; such memory returns to the system when it is freed.
 *
 * <p>A free of an address that is not live here is reported and does not reach the allocator.
 */
// One class, since the parts of an allocation and a free are one step.
final class ExportedAllocator {
    /** Ends the message of every failed allocation; ONNX Runtime repeats it in the message of its exception. */
    static final String FAILED =
            "cannot allocate; the cause of this exception has the numbers; if it has none, OnnxRuntimeAllocators"
                    + ".explained(e) sets it";

    private static final long NO_STREAM = 0;
    private static final GraphBlocks[] NO_GRAPHS = {};

    /** Names a block that stays allocated for a captured graph. */
    private static final String CAPTURED = "captured graph";

    private static final Logger LOG = System.getLogger(ExportedAllocator.class.getName());

    private final String session;
    private final Allocator target;
    private final OrtMemory memory;
    private final @Nullable SessionStreams streams;
    private final SessionBudget budget;
    private final BlockSizes blocks;

    /** For each lent block, by its aligned address, the address that {@code malloc} returned. */
    private final BlockSizes lent = new BlockSizes();

    private final LongAdder reserves = new LongAdder();

    /** Where the live blocks were allocated; {@code null} if that is not recorded. */
    private final @Nullable BlockSites sites;

    /** Names the blocks; {@code null} if they have no names. */
    private final @Nullable BlockNames names;

    private final FailureLog failures;
    private final MemoryDump dump;
    private final long struct;

    /** From this size on, a block without a stream is a reserve. */
    private volatile long leastReserve = Long.MAX_VALUE;

    private volatile @Nullable InstalledMemory relief;

    /** Lists the exports that share the budget above. */
    private volatile Supplier<List<ExportedAllocator>> siblings = List::of;

    /** The captured graphs, the one being captured last. Replaced, never changed, under the monitor of this. */
    private volatile GraphBlocks[] graphs = NO_GRAPHS;

    private volatile boolean isRegistered;

    /** Whether it is being closed, or is closed: an allocation that is under way waits for the outcome. */
    private volatile boolean isEnding;

    /** Written under the monitor of this. */
    private volatile boolean isClosed;

    /**
     * Exports an allocator.
     *
     * @param target the allocator, which stays the caller's; ordered on streams if {@code streams} are given
     * @param memory the memory of ONNX Runtime's that it serves
     * @param streams the streams of the session, or {@code null} if memory is not ordered on streams
     * @param budget the budget of its blocks
     * @param sites records where its blocks are allocated, {@code null} for no record
     * @param names names its blocks, {@code null} for no names
     * @param failures the failures of the session, of all its memories
     */
    ExportedAllocator(
            Allocator target,
            OrtMemory memory,
            @Nullable SessionStreams streams,
            SessionBudget budget,
            @Nullable BlockSites sites,
            @Nullable BlockNames names,
            FailureLog failures) {
        this.target = target;
        this.memory = memory;
        this.streams = streams;
        this.budget = budget;
        this.sites = sites;
        this.names = names;
        blocks = new BlockSizes(names != null);
        this.failures = failures;
        session = failures.session();
        dump = new MemoryDump(failures, target, budget, blocks);
        // Last, as it publishes this object to native code and to a table that holds it until it is closed.
        struct =
                ExportedStruct.create(this, OnnxRuntimeLibrary.api().version().api(), failed(session), streams != null);
    }

    /** Returns the message of a failed allocation of a session. */
    static String failed(String session) {
        return "the allocator of " + session + " " + FAILED;
    }

    /** Returns the address of the {@code OrtAllocator}. */
    long struct() {
        return struct;
    }

    String session() {
        return session;
    }

    /** Returns the allocator that is exported. */
    Allocator target() {
        return target;
    }

    /** Returns the memory of ONNX Runtime's that it serves. */
    OrtMemory memory() {
        return memory;
    }

    SessionBudget budget() {
        return budget;
    }

    /** Returns the failed allocations. */
    FailureLog failures() {
        return failures;
    }

    /** Sets what lists the exports that share the budget above, for the dump of a failure. */
    void setSiblings(Supplier<List<ExportedAllocator>> all) {
        siblings = all;
    }

    /** Sets whose sessions are put to sleep when memory runs out. */
    void setRelief(InstalledMemory installed) {
        relief = installed;
    }

    /** Sets from which size on a block without a stream is a reserve, as while the weights of a session are loaded. */
    void setLeastReserve(long bytes) {
        leastReserve = bytes;
    }

    /** Visits the live blocks. */
    void forEach(BlockSizes.BlockVisitor visitor) {
        blocks.forEach(visitor);
    }

    /** Sets whether new sessions of the environment get this allocator. */
    void setRegistered(boolean registered) {
        isRegistered = registered;
    }

    /** Allocates a block. Returns its address, or 0 after it has reported the failure. Never throws. */
    long alloc(long byteSize) {
        return alloc(byteSize, false, NO_STREAM);
    }

    /** Allocates a block for weights, as {@link #alloc}. */
    long reserve(long byteSize) {
        return alloc(byteSize, true, NO_STREAM);
    }

    /** Allocates a block on an {@code OrtSyncStream}, as {@link #alloc}; without one if {@code stream} is 0. */
    long allocOnStream(long byteSize, long stream) {
        return alloc(byteSize, false, stream);
    }

    private long alloc(long byteSize, boolean isReserve, long stream) {
        if (byteSize == 0) {
            return ThrowingThunk.EMPTY;
        }
        final long address;
        try {
            address = take(byteSize, isReserve, stream);
        } catch (Throwable e) {
            failures.report(byteSize, e, names == null ? null : names.failed(this, byteSize), dump);
            return ThrowingThunk.isSupported() ? 0 : lend(byteSize);
        }
        noteAllocated(address, byteSize, isReserve, stream);
        return address;
    }

    /**
     * Allocates a block for a tensor of the program.
     *
     * @return its address, which is not 0
     * @throws RuntimeException of the allocator
     */
    long allocTensor(long byteSize) {
        if (byteSize == 0) {
            return ThrowingThunk.EMPTY;
        }
        final long address;
        try {
            address = take(byteSize, false, NO_STREAM);
        } catch (Throwable e) {
            failures.report(byteSize, e, null, dump);
            throw e;
        }
        noteAllocated(address, byteSize, false, NO_STREAM);
        return address;
    }

    private void noteAllocated(long address, long byteSize, boolean isReserve, long stream) {
        try {
            budget.commit();
            if (isReserve) {
                reserves.increment();
            }
            if (sites != null) {
                sites.allocated(address, byteSize);
            }
            if (AllocatorEvents.recordsAllocations()) {
                AllocatorEvents.allocated(
                        session,
                        target.info(),
                        address,
                        byteSize,
                        stream,
                        isReserve,
                        names == null ? "" : blocks.name(address));
            }
        } catch (Throwable e) {
            // The block is returned; only the statistics do not count it.
        }
    }

    /** Takes a block from the allocator and charges the budget; neither if it throws. */
    private long take(long byteSize, boolean isReserve, long stream) {
        if (byteSize < 0) {
            // A size_t above the largest long.
            throw InvalidSizeException.negative(byteSize);
        }
        final GraphBlocks[] captured = graphs;
        if (captured.length > 0) {
            final long kept = captured[captured.length - 1].take(byteSize);
            if (kept != 0) {
                return kept;
            }
        }
        final SessionBudget exhausted = budget.take(byteSize);
        if (exhausted != null) {
            throw overBudget(byteSize, exhausted);
        }
        long address = 0;
        try {
            final InstalledMemory room = relief;
            address = room == null
                    ? takeFromTarget(byteSize, isReserve, stream)
                    : room.withRoom(byteSize, () -> takeFromTarget(byteSize, isReserve, stream));
            requireUsable(address, byteSize);
            blocks.put(address, byteSize, names == null ? null : names.allocated(this, address, byteSize));
            if (captured.length > 0) {
                captured[captured.length - 1].add(address, byteSize);
            }
            if (isEnding) {
                requireOpen(address);
            }
            return address;
        } catch (Throwable e) {
            final long ignored = blocks.remove(address);
            undo(address, byteSize);
            throw e;
        }
    }

    /**
     * Waits for the close that is under way. It has either seen the block and was rejected, or the block is taken back.
     *
     * @throws AllocatorClosedException if the export has ended; the block is not among the live ones
     */
    private synchronized void requireOpen(long address) {
        if (isClosed) {
            final long ignored = blocks.remove(address);
            throw new AllocatorClosedException("the allocator of " + session + " was closed meanwhile");
        }
    }

    private long takeFromTarget(long byteSize, boolean isReserve, long stream) {
        final boolean isWeight = stream == NO_STREAM && byteSize >= leastReserve;
        if ((isReserve || isWeight) && target.spiLevel() >= SpiLevel.RESERVE) {
            return target.reserve(byteSize);
        }
        final SessionStreams table = streams;
        return stream == NO_STREAM || table == null
                ? target.alloc(byteSize)
                : ((StreamAwareAllocator) target).allocOnStream(byteSize, table.of(stream));
    }

    /** Frees a block, unless its address is 0, and ends its charge. */
    private void undo(long address, long byteSize) {
        try {
            if (address != 0) {
                target.free(address);
            }
        } catch (Throwable e) {
            logFailedFree(address, e);
        } finally {
            budget.release(byteSize);
        }
    }

    /** Checks the alignment: ONNX Runtime's kernels use instructions that end the process without it. */
    private void requireUsable(long address, long byteSize) {
        if (address == 0 || address % memory.alignment() != 0) {
            throw new IllegalStateException("the allocator returned 0x" + Long.toHexString(address) + " for " + byteSize
                    + " bytes; a block begins at a multiple of " + memory.alignment());
        }
    }

    private OutOfMemoryException overBudget(long byteSize, SessionBudget exhausted) {
        final String name = exhausted == budget ? "the budget of " + session : "the budget that all sessions share";
        final long limit = exhausted.limit();
        return new OutOfMemoryException(
                name + (limit >= 0 && byteSize > limit ? " is smaller than the request" : " is used up"),
                Shortage.ofBudget(target.info(), byteSize, name, limit, exhausted.used()),
                exhausted == budget ? "" : name + MemoryDump.shares(siblings.get()),
                null);
    }

    private long lend(long byteSize) {
        final long alignment = target.info().byteAlignment();
        final long base = byteSize < 0 ? 0 : SystemMemory.allocate(byteSize + alignment);
        if (base == 0) {
            return 0;
        }
        final long address = (base + alignment - 1) & -alignment;
        try {
            lent.put(address, base);
        } catch (Throwable e) {
            SystemMemory.free(base);
            return 0;
        }
        return address;
    }

    /** Frees a block that ONNX Runtime has no more use of, and ends its charge. A failure is logged, not thrown. */
    void free(long address) {
        if (address == 0 || address == ThrowingThunk.EMPTY) {
            return;
        }
        for (final GraphBlocks graph : graphs) {
            if (graph.free(address)) {
                return;
            }
        }
        freeToTarget(address);
    }

    private void freeToTarget(long address) {
        final long byteSize = blocks.remove(address);
        if (byteSize == BlockSizes.NONE) {
            freeOther(address);
            return;
        }
        try {
            noteFree(address, byteSize);
            target.free(address);
        } catch (Throwable e) {
            logFailedFree(address, e);
        } finally {
            budget.release(byteSize);
        }
    }

    private void logFailedFree(long address, Throwable failure) {
        try {
            LOG.log(Level.ERROR, "{0}: free of 0x{1} failed: {2}", session, Long.toHexString(address), failure);
        } catch (Throwable e) {
            // A log that fails does not fail what is logged.
        }
    }

    private void noteFree(long address, long byteSize) {
        try {
            if (names != null) {
                names.freeing(this, address, byteSize);
            }
            if (sites != null) {
                sites.freeing(address);
            }
            if (AllocatorEvents.recordsFrees()) {
                AllocatorEvents.freeing(session, target.info(), address);
            }
        } catch (Throwable e) {
            // Without an event or with a stale site, the block is freed.
        }
    }

    /** Frees memory that was lent, or reports an address that is not live here. */
    private void freeOther(long address) {
        final long base = lent.remove(address);
        if (base != BlockSizes.NONE) {
            SystemMemory.free(base);
            return;
        }
        try {
            LOG.log(
                    Level.ERROR,
                    "{0} freed 0x{1}, which is not live in its allocator; ignored",
                    session,
                    Long.toHexString(address));
        } catch (Throwable e) {
            // A log that fails does not fail what is logged.
        }
    }

    /** Gives each large reserve one copy with equal ones of other sessions. */
    void share(PagedReserves pages) {
        blocks.forEach((address, byteSize, name) -> {
            if (byteSize >= PagedReserves.LEAST_BYTES) {
                pages.share(address);
            }
        });
    }

    /** Begins to capture a graph, whose blocks stay allocated until it is {@linkplain #release released}. */
    synchronized void beginCapture(GraphBlocks graph) {
        final GraphBlocks[] more = Arrays.copyOf(graphs, graphs.length + 1);
        more[graphs.length] = graph;
        graphs = more;
    }

    /** Ends the capture of a graph: frees what its replays do not use. */
    void endCapture(GraphBlocks graph) {
        graph.endCapture(this::freeToTarget);
    }

    /** Frees what a graph uses, which is not replayed again. */
    synchronized void release(GraphBlocks graph) {
        graphs = Arrays.stream(graphs).filter(other -> other != graph).toArray(GraphBlocks[]::new);
        graph.release(this::freeToTarget);
    }

    /** Returns the bytes that are allocated only for captured graphs. */
    long bytesCaptured() {
        return Arrays.stream(graphs).mapToLong(GraphBlocks::bytes).sum();
    }

    /** Returns what is allocated here, in requested bytes; the limit is the budget. */
    AllocatorStats stats() {
        final long used = budget.used();
        final long peak = Math.max(used, budget.peak());
        final long reserved = reserves.sum();
        return new AllocatorStats.Builder()
                .limit(budget.limit())
                .inUse(used, used, peak)
                .held(used, peak)
                .calls(blocks.added(), reserved, dump.failures(), blocks.largest())
                .build();
    }

    /** Returns how many blocks ONNX Runtime has. */
    int liveBlocks() {
        return blocks.count() + lent.count();
    }

    /** Adds which live blocks are for what, and where they were allocated, as far as either is known. */
    void addSites(String owner, Map<Long, Site> byAddress) {
        if (sites != null) {
            sites.addTo(owner, byAddress);
        }
        if (names != null || graphs.length > 0) {
            blocks.forEach((address, byteSize, own) -> {
                final String name = isCaptured(address) ? CAPTURED : own;
                if (name != null) {
                    byAddress.merge(
                            address,
                            new Site(owner, name, Site.UNKNOWN_AGE, byteSize),
                            (line, named) ->
                                    new Site(owner, BlockName.join(name, line.frame()), line.ageMillis(), byteSize));
                }
            });
        }
    }

    private boolean isCaptured(long address) {
        return Arrays.stream(graphs).anyMatch(graph -> graph.has(address));
    }

    /** Returns what names its blocks; {@code null} if they have no names. */
    @Nullable
    BlockNames names() {
        return names;
    }

    /** Returns the bytes of the live blocks with a name. */
    long bytes(String ofName) {
        final LongAdder sum = new LongAdder();
        blocks.forEach((address, byteSize, name) -> sum.add(ofName.equals(name) ? byteSize : 0));
        return sum.sum();
    }

    /** Returns whether the export has ended. */
    boolean isClosed() {
        return isClosed;
    }

    /** Returns unused memory of the allocator to the system. */
    ShrinkReport shrink() {
        try {
            return shrink(target);
        } catch (RuntimeException e) {
            LOG.log(Level.WARNING, "the allocator of " + session + " cannot shrink", e);
            throw e;
        }
    }

    /** Shrinks an allocator if it can be shrunk; otherwise nothing is released. */
    static ShrinkReport shrink(Allocator allocator) {
        if (allocator.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable
                && allocator.spiLevel() >= SpiLevel.SHRINK) {
            return shrinkable.shrink();
        }
        return new ShrinkReport(0, 0, stats(allocator).bytesHeld(), 0, 0);
    }

    /** Returns the statistics of an allocator, {@link AllocatorStats#NONE} if it has none. */
    static AllocatorStats stats(Allocator allocator) {
        return allocator.spiLevel() >= SpiLevel.STATISTICS ? allocator.stats() : AllocatorStats.NONE;
    }

    /** Returns why this cannot be closed now, or {@code null} if it can. */
    @Nullable
    String obstacle() {
        if (isRegistered) {
            return "the allocator of " + session + " is registered with the environment";
        }
        final int live = liveBlocks();
        if (live > 0) {
            return "ONNX Runtime holds " + live + (live == 1 ? " block, " : " blocks, ") + budget.used() + " bytes, of "
                    + session + "; close its results and tensors, also those of Binding.result";
        }
        return null;
    }

    /**
     * Ends the export: from here on every allocation through the struct fails. After the end, a call does nothing.
     *
     * @throws IllegalStateException if it is registered, or ONNX Runtime holds blocks of it
     */
    synchronized void close() {
        if (isClosed) {
            return;
        }
        isEnding = true;
        try {
            final String obstacle = obstacle();
            if (obstacle != null) {
                throw new IllegalStateException(obstacle);
            }
            ExportedStruct.retire(struct);
            isClosed = true;
        } finally {
            isEnding = isClosed;
        }
    }
}
