package allocator.onnxruntime;

import allocator.onnxruntime.block.SessionBudget;
import allocator.onnxruntime.support.SystemMemory;
import allocator.provider.support.internal.Failures;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.RemappableReserves;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** All that one session has of an installation: an exported allocator for each memory, its streams, its failures. */
final class ExportedSession {
    private final Collection<InstalledMemory> installed;
    private final FailureLog failures;
    private final HeldBlocks held;

    /** Names the blocks; {@code null} if the session cannot be profiled. */
    private final @Nullable BlockNames names;

    private final List<SessionMemory> memories = new ArrayList<>();

    /** Of each GPU whose memory has pages to take away. */
    private final List<SleepingWeights> weights = new ArrayList<>();

    /** By the ordinal of the GPU. */
    private final Map<Integer, SessionStreams> streams = new TreeMap<>();

    /** All {@code streams}, visited without an iterator. */
    private final SessionStreams[] tables;

    /**
     * Exports the allocators of an installation for one session.
     *
     * @param installed the installation's memories
     * @param settings budgets, decorator and profiling
     * @param failures receives the failures of all memories
     * @param held reports the blocks that ONNX Runtime holds at the close of the session
     * @throws IllegalArgumentException if a decorator's allocator lacks the streams of the one beneath
     * @throws NullPointerException if a decorator returns no allocator
     * @throws java.io.UncheckedIOException if there is no folder for a profile
     */
    ExportedSession(
            Collection<InstalledMemory> installed, SessionSettings settings, FailureLog failures, HeldBlocks held) {
        this.installed = installed;
        this.failures = failures;
        this.held = held;
        names = settings.isProfiled() ? new BlockNames() : null;
        try {
            for (final InstalledMemory memory : installed) {
                memories.add(memoryOf(memory, export(memory, settings)));
            }
            tables = streams.values().toArray(SessionStreams[]::new);
        } catch (Throwable e) {
            closeMemories();
            deleteProfile();
            throw e;
        }
    }

    /** Returns the session's part of a memory, whose weights are reserves while it is created, if they can sleep. */
    private SessionMemory memoryOf(InstalledMemory memory, ExportedAllocator export) {
        final RemappableReserves pages = memory.pages().orElse(null);
        for (final InstalledMemory pinned : installed) {
            if (pages != null
                    && pinned.info().memoryType() == MemoryType.HOST_ACCESSIBLE
                    && pinned.info().deviceOrdinal() == memory.info().deviceOrdinal()) {
                final SleepingWeights sleeping = new SleepingWeights(export, memory, pinned, pages);
                weights.add(sleeping);
                export.setLeastReserve(pages.pageBytes());
                return new SessionMemory(export, memory.weights(), sleeping::bytesAsleep);
            }
        }
        return new SessionMemory(export, memory.weights(), () -> 0);
    }

    /** Ends the creation of the session. */
    void setCreated() {
        allocators().forEach(export -> export.setLeastReserve(Long.MAX_VALUE));
    }

    private ExportedAllocator export(InstalledMemory installed, SessionSettings settings) {
        final Allocator allocator = installed.allocator();
        final UnaryOperator<Allocator> decorator = settings.decorator();
        final Allocator decorated = Objects.requireNonNull(
                decorator.apply(allocator),
                () -> "the decorator of session " + failures.session() + " returned no allocator for "
                        + allocator.info());
        final SessionStreams table = hasStreams(allocator) ? streamsOf(installed) : null;
        if (table != null && !hasStreams(decorated)) {
            throw new IllegalArgumentException("the decorator of session " + failures.session()
                    + " returned an allocator without streams for " + allocator.info()
                    + ", whose memory is ordered on streams; return a StreamAwareAllocator");
        }
        return installed.add(new ExportedAllocator(
                decorated,
                installed.target().memory(),
                table,
                new SessionBudget(installed.budget(), budget(allocator.info(), settings)),
                held.sites(),
                names,
                failures));
    }

    private static boolean hasStreams(Allocator allocator) {
        return allocator.as(StreamAwareAllocator.class).isPresent() && allocator.spiLevel() >= SpiLevel.STREAMS;
    }

    private static long budget(MemoryInfo info, SessionSettings settings) {
        if (info.deviceType() == DeviceType.CPU) {
            return settings.budget();
        }
        return info.memoryType() == MemoryType.DEFAULT ? settings.gpuBudget() : AllocatorStats.UNLIMITED;
    }

    /** Returns the session's streams of a GPU; none of CPU memory, as ONNX Runtime's CPU provider has no streams. */
    private @Nullable SessionStreams streamsOf(InstalledMemory installed) {
        final MemoryInfo info = installed.info();
        if (info.deviceType() == DeviceType.CPU) {
            return null;
        }
        return streams.computeIfAbsent(
                info.deviceOrdinal(),
                _ -> new SessionStreams(failures.session(), OnnxRuntimeLibrary.api()::streamHandle, installed.views()));
    }

    /** Returns the names of the blocks; {@code null} if the session cannot be profiled. */
    @Nullable
    BlockNames names() {
        return names;
    }

    /** Deletes what ONNX Runtime's profiler has written. Throws nothing. */
    void deleteProfile() {
        if (names != null) {
            names.file().delete();
        }
    }

    FailureLog failures() {
        return failures;
    }

    List<SessionMemory> memories() {
        return List.copyOf(memories);
    }

    List<ExportedAllocator> allocators() {
        return memories.stream().map(SessionMemory::exported).toList();
    }

    /** Returns the resident bytes of the process that the installation's allocators do not hold; empty if not known. */
    OptionalLong elsewhere() {
        final OptionalLong resident = SystemMemory.resident();
        if (resident.isEmpty()) {
            return resident;
        }
        long bytes = resident.getAsLong();
        try {
            for (final InstalledMemory memory : installed) {
                bytes -= memory.isOfHost() ? Math.max(memory.stats().bytesHeld(), memory.bytesInUse()) : 0;
            }
        } catch (RuntimeException e) {
            return OptionalLong.empty(); // an allocator fails to report what it holds
        }
        return OptionalLong.of(Math.max(0, bytes));
    }

    int liveBlocks() {
        return memories.stream().mapToInt(SessionMemory::liveBlocks).sum();
    }

    /** Reports the blocks that ONNX Runtime holds, if that is asked for. Throws nothing. */
    void reportHeld() {
        final List<ExportedAllocator> exports = allocators();
        held.report(failures.session(), installed, exports::contains);
    }

    /**
     * Gives the weights of the session, which no caller has yet, one copy with those of others.
     *
     * @throws allocator.spi.DeviceException as {@link SharedWeights#share}
     */
    void shareWeights() {
        final Iterator<SessionMemory> own = memories.iterator();
        installed.forEach(memory -> memory.weights().share(own.next().exported()));
    }

    long bytesAsleep() {
        long sum = 0;
        for (int i = 0; i < weights.size(); i++) { // an iterator would be an object for each run
            sum += weights.get(i).bytesAsleep();
        }
        return sum;
    }

    /** Returns the bytes of a memory that a sleep gives back. */
    long bytesAwake(InstalledMemory memory) {
        return weights.stream().mapToLong(each -> each.bytesAwake(memory)).sum();
    }

    /** Throws an {@link IllegalStateException} if the session has no weights that can sleep. */
    void requireWeights() {
        if (bytesAsleep() == 0 && installed.stream().allMatch(memory -> bytesAwake(memory) == 0)) {
            throw new IllegalStateException("the session " + failures.session() + " has no GPU memory that can sleep: "
                    + (weights.isEmpty()
                            ? "give GpuMemory.of(\"cuda-arena\") the option arena.paged_reserves=1, which a device "
                                    + "without virtual memory cannot have"
                            : "it has no weights of 2 MiB or more there"));
        }
    }

    /** Puts the weights to sleep, while no run is in flight. Returns their bytes. */
    long sleep() {
        requireWeights();
        streams.values().forEach(SessionStreams::flush);
        return weights.stream().mapToLong(each -> each.move(true)).sum();
    }

    /** Wakes the weights. Returns their bytes. */
    long wake() {
        return weights.stream().mapToLong(each -> each.move(false)).sum();
    }

    /** Frees what the weights have of the host, once ONNX Runtime has no more use of them. */
    void closeWeights() {
        final Failures failed = new Failures();
        weights.forEach(each -> failed.run(each::close));
        failed.throwIfAny();
    }

    /** Begins a run, or the creation of the session. */
    void beginRun() {
        for (final SessionStreams table : tables) {
            table.beginRun();
        }
        if (names != null) {
            names.begin();
        }
    }

    /** Ends what {@link #beginRun} has begun; the work of a launch on streams may go on. Never throws. */
    void endRun(boolean isLaunch) {
        for (final SessionStreams table : tables) {
            if (isLaunch) {
                table.endLaunch();
            } else {
                table.endRun();
            }
        }
        if (names != null) {
            names.end();
        }
    }

    boolean hasGpu() {
        return installed.stream().anyMatch(one -> one.info().deviceType() == DeviceType.GPU);
    }

    /** Returns whether a memory is of this installation. */
    boolean isOf(InstalledMemory memory) {
        return installed.contains(memory);
    }

    /**
     * Returns whether the session runs on a stream.
     *
     * @throws IllegalArgumentException if it is of a device whose memory is not installed
     */
    SessionStreams.Use use(SyncStream stream) {
        final SessionStreams table = streams.get(stream.memory().deviceOrdinal());
        if (table == null || stream.memory().deviceType() == DeviceType.CPU) {
            throw new IllegalArgumentException(
                    stream + " is of a device whose memory is not installed for " + failures.session());
        }
        return table.use(stream.handle());
    }

    /** Begins to capture a graph: returns what stays allocated for it, of each memory. */
    List<GraphBlocks> beginCapture() {
        final List<GraphBlocks> graph = new ArrayList<>();
        for (final ExportedAllocator allocator : allocators()) {
            final GraphBlocks blocks =
                    new GraphBlocks(() -> Arrays.stream(tables).anyMatch(SessionStreams::isCapturing));
            allocator.beginCapture(blocks);
            graph.add(blocks);
        }
        return graph;
    }

    /** Ends the capture of a graph: frees what its replays do not use. */
    void endCapture(List<GraphBlocks> graph) {
        for (int i = 0; i < graph.size(); i++) {
            allocators().get(i).endCapture(graph.get(i));
        }
    }

    /** Frees what a graph has used. */
    void release(List<GraphBlocks> graph) {
        for (int i = 0; i < graph.size(); i++) {
            allocators().get(i).release(graph.get(i));
        }
    }

    /**
     * Waits for the work on the session's streams and forgets them.
     *
     * @throws RuntimeException of a stream whose work cannot be confirmed, as whatever else the provider throws;
     *     another call tries again
     */
    void closeStreams() {
        final Failures failed = new Failures();
        for (final SessionStreams table : tables) {
            failed.run(table::close);
        }
        failed.throwIfAny();
    }

    /** Returns why this cannot be closed now, or {@code null} if it can. */
    @Nullable
    String obstacle() {
        for (final SessionMemory memory : memories) {
            final String obstacle = memory.exported().obstacle();
            if (obstacle != null) {
                return obstacle;
            }
        }
        return null;
    }

    /**
     * Ends the export of all memories.
     *
     * @throws IllegalStateException as {@link ExportedAllocator#close}
     * @throws RuntimeException as {@link #closeStreams}
     */
    void close() {
        deleteProfile();
        closeStreams();
        closeWeights();
        closeMemories();
    }

    private void closeMemories() {
        final Failures failed = new Failures();
        for (final SessionMemory memory : memories) {
            failed.run(memory.exported()::close);
        }
        failed.throwIfAny();
    }
}
