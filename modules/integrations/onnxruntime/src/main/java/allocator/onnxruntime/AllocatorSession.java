package allocator.onnxruntime;

import ai.onnxruntime.OnnxTensorLike;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.RunOptions;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.internal.Failures;
import allocator.spi.AllocatorStats;
import allocator.spi.MemoryType;
import allocator.spi.SyncStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A session of ONNX Runtime whose memory comes from allocators of this project: the {@link OrtSession}, with its
 * budgets, statistics and failures.
 *
 * <p>{@link #run(Map)} is that of the {@link OrtSession}, except that after a failed allocation ONNX Runtime's
 * exception has the allocator's {@link allocator.spi.OutOfMemoryException} as its cause. The session remains usable.
 *
 * <p>Run a session with GPU memory through this object: the end of a run lets other sessions use what it freed. A run
 * of {@link #session()} itself does not, and must not overlap one of this object. Nor does it wake a session that
 * {@linkplain #sleep sleeps}: it would use memory that is not there, which ends the work of the process on the GPU.
 */
public final class AllocatorSession implements AutoCloseable {
    private static final Logger LOG = System.getLogger(ExportedAllocator.class.getName());
    private static final long NEVER = Long.MAX_VALUE;

    private final OrtSession session;
    private final ExportedSession memory;

    /** The runs of this object that have begun and not ended. Guarded by this. */
    private int runs;

    /** Whether the weights fall asleep or wake, so that no run begins. Guarded by this. */
    private boolean isMoving;

    /** The runs that have ended, of which an older one counts less, at {@link #lastEnd}. Guarded by this. */
    private double recentRuns;

    private long lastEnd = System.nanoTime();

    /** Nanoseconds. */
    private volatile long idleSleep = NEVER;

    /** Those that are not closed. Guarded by this. */
    private final List<Binding> bindings = new ArrayList<>();

    /** Of runs without options of their own; {@code null} without a GPU. */
    private final @Nullable RunOptions options;

    private int graphs;

    AllocatorSession(OrtSession session, ExportedSession memory) throws OrtException {
        this.session = session;
        this.memory = memory;
        options = memory.hasGpu() ? Binding.withoutGraph() : null;
    }

    /** {@return ONNX Runtime's session} Close this object rather than that one. */
    public OrtSession session() {
        return session;
    }

    /** {@return the session's name: the one given when it was opened, or the model's} */
    public String name() {
        return memory.failures().session();
    }

    /**
     * Runs the model for all its outputs.
     *
     * @param inputs the inputs by name
     * @return the outputs, to be closed by the caller
     * @throws OrtException if ONNX Runtime fails; if an allocation failed, the cause is its exception
     * @throws IllegalStateException if the session or an input is closed
     * @throws allocator.spi.AllocatorException if the session sleeps and cannot {@link #wake}; it sleeps on
     */
    public OrtSession.Result run(Map<String, ? extends OnnxTensorLike> inputs) throws OrtException {
        requireOpen(inputs);
        return run(() -> session.run(inputs, session.getOutputNames(), options));
    }

    /**
     * Runs the model for some of its outputs, with options.
     *
     * @param inputs the inputs by name
     * @param outputs the names of the outputs
     * @param options the options; of a session with {@code enable_cuda_graph=1} they need the entry
     *     {@code gpu_graph_id=-1}, without which ONNX Runtime captures a graph whose memory nothing keeps
     * @return the outputs, to be closed by the caller
     * @throws OrtException as {@link #run(Map)}
     * @throws IllegalStateException as {@link #run(Map)}
     */
    public OrtSession.Result run(
            Map<String, ? extends OnnxTensorLike> inputs, Set<String> outputs, OrtSession.RunOptions options)
            throws OrtException {
        requireOpen(inputs);
        return run(() -> session.run(inputs, outputs, options));
    }

    /**
     * Runs the model twice under ONNX Runtime's profiler and returns which operators have the memory. From then on the
     * blocks of a run of the same shapes have the names of their operators, in snapshots and in the reports of failures
     * and leaks, at the cost of recording a block.
     *
     * <p>Call it once, before any other run of these shapes: ONNX Runtime allocates the tensors of earlier shapes as
     * one block, in which no operator can be named. While it runs, let no other thread run the session: what that
     * allocates is unknown.
     *
     * <p>A later run is compared with the profiled one, allocation by allocation. From the first one that differs, as
     * in a run of other shapes, its blocks have no name; neither have the blocks of runs at once, of runs of
     * {@link #session()} itself, of what follows an operator {@code If}, {@code Loop} or {@code Scan}, nor any with
     * parallel execution.
     *
     * @param inputs the inputs by name
     * @return what the operators have
     * @throws OrtException if a run fails, as {@link #run(Map)}; another call tries again
     * @throws IllegalStateException if the session was not opened with {@link SessionSettings#withProfiling}, or was
     *     profiled; if the session or an input is closed
     * @throws java.io.UncheckedIOException if ONNX Runtime's profile cannot be read
     */
    public MemoryProfile profile(Map<String, ? extends OnnxTensorLike> inputs) throws OrtException {
        requireOpen(inputs);
        final BlockNames names = memory.names();
        if (names == null) {
            throw new IllegalStateException("the session " + name()
                    + " cannot be profiled; open it with SessionSettings.DEFAULT.withProfiling()");
        }
        begin();
        try {
            if (names.isProfiled()) {
                throw new IllegalStateException("the session " + name()
                        + " was profiled, which ONNX Runtime does once for each session; open another one");
            }
            return new SessionProfiler(session, memory, names, options).profile(inputs);
        } catch (OrtException e) {
            throw explain(e);
        } finally {
            end();
        }
    }

    /** Rejects a closed tensor, which ONNX Runtime does not check: it would read freed memory and end the process. */
    private static void requireOpen(Map<String, ? extends OnnxTensorLike> inputs) {
        for (final Map.Entry<String, ? extends OnnxTensorLike> input : inputs.entrySet()) {
            if (Objects.requireNonNull(input.getValue(), input.getKey()).isClosed()) {
                throw new IllegalStateException("the input " + input.getKey() + " is closed");
            }
        }
    }

    /** A run of ONNX Runtime's session. */
    private interface Run {
        OrtSession.Result run() throws OrtException;
    }

    private OrtSession.Result run(Run run) throws OrtException {
        begin();
        try {
            return run.run();
        } catch (OrtException e) {
            throw explain(e);
        } finally {
            end();
        }
    }

    /**
     * {@return a binding without inputs and outputs, to be closed by the caller, or else with this session}
     *
     * @throws OrtException if ONNX Runtime fails
     * @throws OnnxRuntimeException if the handle of the session cannot be read
     * @throws IllegalStateException if this is closed
     */
    public synchronized Binding bind() throws OrtException {
        if (!isOpen()) {
            throw new IllegalStateException("the session " + name() + " is closed");
        }
        final Binding binding = new Binding(this);
        bindings.add(binding);
        return binding;
    }

    /** Closes a binding. */
    synchronized void close(Binding binding) {
        bindings.remove(binding);
        binding.release();
    }

    /** Returns whether a memory is of the session's installation. */
    boolean isOf(InstalledMemory installed) {
        return memory.isOf(installed);
    }

    /** Returns whether the session runs on a stream. */
    SessionStreams.Use use(SyncStream stream) {
        return memory.use(stream);
    }

    /** Returns the id of another graph. */
    synchronized String nextGraph() {
        graphs++;
        return String.valueOf(graphs);
    }

    /**
     * Begins to capture a graph. Called under the monitor of this, which keeps other runs from beginning.
     *
     * @throws IllegalStateException if a run is under way, or the session sleeps
     */
    synchronized List<GraphBlocks> beginCapture() {
        if (runs > 0) {
            throw new IllegalStateException(
                    "the session " + name() + " runs; capture a graph while no other run is under way");
        }
        awaitMove(false);
        if (isAsleep()) { // a wake under the monitor could wait for another one, which has this session sleep
            throw new IllegalStateException(
                    "the session " + name() + " fell asleep, as others need the room; capture the graph again");
        }
        begin();
        try {
            return memory.beginCapture();
        } catch (Throwable e) {
            end();
            throw e;
        }
    }

    /** Ends a capture: frees what the replays of the graph do not use. */
    void endCapture(List<GraphBlocks> graph) {
        memory.endCapture(graph);
        end();
    }

    /** Ends a capture that has failed. */
    void failCapture(List<GraphBlocks> graph) {
        memory.release(graph);
        end();
    }

    /** Frees what a graph has used. */
    void release(List<GraphBlocks> graph) {
        memory.release(graph);
    }

    /** Sets the failed allocation behind ONNX Runtime's exception as its cause, if there is one. */
    OrtException explain(OrtException e) {
        return memory.failures().explain(e);
    }

    /** Begins a run, for which the session wakes. */
    void begin() {
        while (true) {
            synchronized (this) {
                awaitMove(false);
                if (!isAsleep()) {
                    memory.beginRun();
                    runs++;
                    return;
                }
            }
            wake();
        }
    }

    /** Waits for a move, or that runs end, which a move waits for. Under the monitor of this, which it releases. */
    private void awaitMove(boolean isOfRuns) {
        boolean isInterrupted = false;
        while (isOfRuns ? runs > 0 : isMoving) {
            try {
                wait();
            } catch (InterruptedException e) {
                isInterrupted = true;
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Puts the session to sleep: after the runs that are in flight, its weights go to pinned memory of the host, and
     * their pages back to the device. Every address stays. The next run wakes it. Not to be called from within a run.
     *
     * <p>Only weights sleep, of 2 MiB and more, of memory with {@code arena.paged_reserves=1}; neither what results and
     * tensors hold, nor what ONNX Runtime and CUDA hold elsewhere. The copy on the host stays until the close.
     *
     * @return the bytes that went to the host, {@code 0} if it slept
     * @throws IllegalStateException if the session is closed, or has no such weights
     * @throws allocator.spi.OutOfMemoryException if the host has no pinned memory for the copy; it stays awake
     * @throws allocator.spi.DeviceException if the device fails; it stays awake, or else sleeps with nothing lost
     */
    public long sleep() {
        synchronized (this) {
            awaitMove(false);
            isMoving = true; // no further run begins
            awaitMove(true);
        }
        return move(memory::sleep);
    }

    /**
     * Wakes the session, as a run does. Other sessions of the installation fall asleep if there is no room otherwise,
     * but none with a run in flight.
     *
     * @return the bytes that came from the host, {@code 0} if it was awake
     * @throws allocator.spi.OutOfMemoryException if the limit or the device has no room; the session sleeps on
     * @throws allocator.spi.DeviceException if the device fails; the session sleeps on
     */
    public long wake() {
        synchronized (this) {
            awaitMove(false);
            if (!isAsleep()) {
                return 0;
            }
            isMoving = true; // and no run is in flight
        }
        return move(memory::wake);
    }

    /** {@return whether weights of the session are asleep} */
    public boolean isAsleep() {
        return memory.bytesAsleep() > 0;
    }

    private long move(LongSupplier move) {
        try {
            if (!isOpen()) {
                throw new IllegalStateException("the session " + name() + " is closed");
            }
            return move.getAsLong();
        } finally {
            synchronized (this) {
                isMoving = false;
                notifyAll();
            }
        }
    }

    /** Returns the bytes of a memory that a sleep gives back. */
    long bytesAwake(InstalledMemory of) {
        return memory.bytesAwake(of);
    }

    /** Puts the session to sleep unless a run is in flight. Returns whether it did. Throws nothing. */
    boolean trySleep() {
        synchronized (this) {
            if (isMoving || runs > 0) {
                return false;
            }
            isMoving = true;
        }
        try {
            return move(memory::sleep) > 0;
        } catch (Throwable e) {
            LOG.log(Level.WARNING, "{0} cannot sleep: {1}", name(), Failures.describe(e));
            return false;
        }
    }

    /** Returns the runs of about the last minute. */
    synchronized double recentRuns() {
        return recentRuns * Math.exp((lastEnd - System.nanoTime()) / 60e9);
    }

    /**
     * Puts the session to sleep whenever no run has ended for a while, on a thread of the common pool. The log says why
     * it cannot.
     *
     * @param idle how long, at least a millisecond
     * @throws IllegalArgumentException if it is shorter
     * @throws IllegalStateException if the session has no such weights as {@link #sleep} needs
     */
    public void setIdleSleep(Duration idle) {
        if (idle.compareTo(Duration.ofMillis(1)) < 0) {
            throw new IllegalArgumentException("a session sleeps after " + idle + "; it is at least a millisecond");
        }
        memory.requireWeights();
        final boolean isFirst = idleSleep == NEVER;
        idleSleep = idle.toNanos();
        if (isFirst) {
            checkIdle(idle.toNanos());
        }
    }

    private void checkIdle(long nanos) {
        CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS).execute(() -> {
            final long idle = idleSleep;
            final long rest;
            synchronized (this) {
                rest = Math.max(0, idle - (System.nanoTime() - lastEnd));
            }
            if (idle != NEVER) {
                final boolean ignored = rest == 0 && !isAsleep() && trySleep();
                checkIdle(rest == 0 ? idle : rest);
            }
        });
    }

    /** Ends a run. Never throws. */
    void end() {
        end(false);
    }

    /**
     * Ends a run. Never throws.
     *
     * @param isLaunch whether its work on a stream may go on
     */
    void end(boolean isLaunch) {
        try {
            memory.endRun(isLaunch);
        } finally {
            synchronized (this) {
                runs--;
                recentRuns = recentRuns() + 1;
                lastEnd = System.nanoTime();
                notifyAll();
            }
        }
    }

    /**
     * Returns and removes the oldest failed allocation of the current thread, or else the oldest of all.
     * {@link #run(Map)} removes the failure that it throws. The latest 64 failures are stored.
     *
     * @return the failure, or empty if there is none
     */
    public Optional<AllocationFailure> takeFailure() {
        return memory.failures().take();
    }

    /**
     * {@return the newest failed allocation, whether or not it was taken, or empty if there was none} Its dump explains
     * a run that ran out of memory.
     */
    public Optional<AllocationFailure> lastFailure() {
        return memory.failures().last();
    }

    /** {@return the session's memories, at least one, in the order of {@link OnnxRuntimeAllocators#memories}} */
    public List<SessionMemory> memories() {
        return memory.memories();
    }

    /**
     * {@return the session's memory of a GPU: the device's own}
     *
     * @param ordinal the device's ordinal
     * @throws IllegalArgumentException if the installation has none of that device
     */
    public SessionMemory gpu(int ordinal) {
        return OnnxRuntimeAllocators.find(MemoryType.DEFAULT, ordinal, memories(), SessionMemory::info);
    }

    /** {@return what the session has allocated of its first memory, in requested bytes; {@code limit} is its budget} */
    public AllocatorStats stats() {
        return memories().getFirst().stats();
    }

    /**
     * Sets the most that the session may have in use of its first memory from now on, in requested bytes. Live blocks
     * stay valid; below what is in use, every allocation fails until enough is freed.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public void setBudget(long bytes) {
        memories().getFirst().setBudget(bytes);
    }

    /** {@return how many blocks ONNX Runtime holds for this session, of all memories} */
    public int liveBlocks() {
        return memory.liveBlocks();
    }

    /**
     * Closes the session, after the work on its streams, and its bindings. Its results and tensors stay valid; until
     * they are closed too, the {@link OnnxRuntimeAllocators} cannot be closed, and they are reported if
     * {@link OnnxRuntimeAllocators#LEAKS} asks for it. A second call does nothing. May be called by several threads at
     * once.
     *
     * @throws OrtException if ONNX Runtime fails
     * @throws IllegalStateException if a run of this object is under way; the session stays open
     * @throws allocator.spi.DeviceException if the device cannot confirm that the work is done; the session is closed,
     *     and the close of the {@link OnnxRuntimeAllocators} tries again
     */
    @Override
    public synchronized void close() throws OrtException {
        if (!isOpen() && bindings.isEmpty()) {
            return;
        }
        if (runs == 0) {
            awaitMove(false);
        }
        if (runs > 0) {
            // ONNX Runtime does not check that, and frees what the run uses.
            throw new IllegalStateException("the session " + name() + " runs; close it after its runs");
        }
        final boolean isFirst = isOpen();
        final Failures failures = new Failures();
        for (final Binding binding : List.copyOf(bindings)) {
            failures.run(() -> close(binding));
        }
        failures.run(memory::closeStreams);
        try {
            failures.throwIfAny();
        } finally {
            if (isFirst) {
                closeSession();
            }
        }
    }

    /** Closes ONNX Runtime's session. */
    private void closeSession() throws OrtException {
        idleSleep = NEVER;
        session.close();
        if (options != null) {
            options.close();
        }
        memory.deleteProfile();
        memory.failures().setClosed();
        AllocatorEvents.sessionClosed(name(), this::liveBlocks); // without what ONNX Runtime has just freed
        memory.reportHeld();
        memory.closeWeights();
    }

    /** Returns whether the session is open; the caller may have closed the {@link OrtSession} itself. */
    boolean isOpen() {
        try {
            return session.getNumInputs() >= 0;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    /** Ends the export of its memory if the session is closed and no block is live. Returns whether it did. */
    boolean closeIfUnused() {
        if (isOpen() || liveBlocks() > 0) {
            return false;
        }
        memory.close();
        return true;
    }

    /** Returns why the export of a closed session cannot be ended now, or {@code null} if it can. */
    @Nullable
    String obstacle() {
        return memory.obstacle();
    }
}
