package allocator.onnxruntime;

import static allocator.runtime.SessionOptions.CALL_SITES;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.block.SessionBudget;
import allocator.onnxruntime.support.CudaOption;
import allocator.onnxruntime.support.EnvironmentReference;
import allocator.onnxruntime.support.OrtApi;
import allocator.onnxruntime.support.ThrowingThunk;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.internal.Failures;
import allocator.provider.support.internal.NativeAccess;
import allocator.provider.support.platform.Platform;
import allocator.runtime.AllocatorReport;
import allocator.runtime.EnvironmentBuilder;
import allocator.runtime.inspection.Inspection;
import allocator.runtime.inspection.InspectionOptions;
import allocator.runtime.inspection.LeakReports;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.SessionState;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkReport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Allocators of this project, installed on ONNX Runtime's environment: sessions take their memory from them.
 *
 * <pre>{@code
 * try (OnnxRuntimeAllocators memory = OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment())
 *                 .provider("cpu-reference")
 *                 .option("arena.max_mem", "67108864")
 *                 .install();
 *         AllocatorSession session = memory.openSession(Path.of("model.onnx"));
 *         OrtSession.Result result = session.run(inputs)) {
 *     use(result);
 *     System.out.println(memory.stats());
 * }
 * }</pre>
 *
 * <p>Sessions opened here share the allocators, but each has its own statistics, budgets and failures. A session
 * created with {@link OrtEnvironment#createSession} uses the allocator of CPU memory too if its options set
 * {@code session.use_env_allocators} to {@code 1}; all such sessions are counted together, as the environment's.
 *
 * <p>CPU memory is installed with {@link Builder#provider(String)} or {@link Builder#allocator}, that of CUDA devices
 * with {@link Builder#gpu}; either or both. What is not installed, ONNX Runtime allocates itself. GPU memory is for
 * sessions opened here only, whose options name ONNX Runtime's CUDA provider. A process has one environment, and at
 * most one installation at a time.
 */
// One class, since most of it documents one public type and its builder.
public final class OnnxRuntimeAllocators implements AutoCloseable {
    /**
     * The key of the option that reports leaks: blocks that ONNX Runtime holds after the close of an
     * {@link AllocatorSession}, for results and tensors that are not closed, and all that it holds when this cannot be
     * closed. {@code full} records the call of the program in which each block was allocated, as in a test,
     * {@code sampled} that of one block in 100, as in production; the default is {@code off}, at no cost. A report is
     * one line of the log with the calls that have most, and never fails a close. A result that is meant to outlive its
     * session is reported too.
     */
    public static final String LEAKS = EnvironmentBuilder.LEAKS;

    /**
     * The key of the option that names a directory for reports of {@link #LEAKS}: each is also written there, as a
     * snapshot {@code allocator-leaks-<time>-<process>.json}. The directory is made if it does not exist, and gets no
     * more than 16 reports. Rejected by {@link Builder#install} without {@link #LEAKS}.
     */
    public static final String LEAKS_REPORT = EnvironmentBuilder.LEAKS_REPORT;

    /**
     * The key of the option that gives equal weights of sessions one copy: {@code 1}; the default is {@code 0}. Each
     * session's large reserves are compared with those of others when it is opened. Only weights that ONNX Runtime
     * takes from the allocator can be shared: on the processor those of 64 KiB or more that kernels have packed, as for
     * matrix products, and not those of convolutions. On a GPU, by {@link GpuMemory#withOption}, it needs
     * {@code arena.paged_reserves=1} of {@code cuda-arena}, takes blocks of 2 MiB or more, and no session can write
     * them: that ends the work of the process on the GPU. Where the provider or the platform cannot do it, or it fails,
     * sessions have weights of their own: {@link InstalledMemory#sharingObstacle}. {@code machine}, which
     * {@code cpu-reference} knows, gives those of all processes of the user with this value one copy, on Linux; where
     * that cannot be done, it is {@code 1}.
     */
    public static final String SHARE_WEIGHTS = "memory.share_weights";

    static final String ENVIRONMENT = "the environment";

    /** The owner of the program's tensors. */
    static final String TENSORS = "tensors";

    private static final int WARM_UP_CALLS = 30_000;
    private static final long WARM_UP_BYTES = 1000;

    /** Of CPU memory, which ONNX Runtime allocates on no stream. */
    private static final StreamViews NO_STREAMS = new StreamViews(handle -> {
        throw new UnsupportedOperationException("CPU memory is not ordered on streams");
    });

    private final OrtEnvironment environment;
    private final NativeEnvironment registry;

    /** That of the CPU first, if it is installed. */
    private final List<InstalledMemory> memories;

    private final HeldBlocks held;
    private final Inspection inspection;

    /** Exports the first memory, for sessions of the environment if it is the CPU's. */
    private final ExportedAllocator shared;

    private final List<AllocatorSession> sessions = new ArrayList<>();

    /** What is owed of sessions that could not be opened. Guarded by this. */
    private final List<ExportedSession> abandoned = new ArrayList<>();

    /** The calls that use the export or make another: sessions being opened, and warm-ups. Guarded by this. */
    private int underWay;

    private boolean isClosed;

    private OnnxRuntimeAllocators(
            OrtEnvironment environment,
            NativeEnvironment registry,
            List<InstalledMemory> memories,
            HeldBlocks held,
            Inspection inspection) {
        AllocatorEvents.prepare();
        this.inspection = inspection;
        this.held = held;
        this.environment = environment;
        this.registry = registry;
        this.memories = memories;
        memories.forEach(memory -> memory.setRecorders(held, inspection.snapshots()));
        final InstalledMemory first = memories.getFirst();
        shared = first.add(new ExportedAllocator(
                first.allocator(),
                first.target().memory(),
                null,
                new SessionBudget(first.budget(), AllocatorStats.UNLIMITED),
                held.sites(),
                null,
                new FailureLog(ENVIRONMENT, "of any session", inspection.snapshots())));
        try {
            registry.beginInstallation();
            try {
                if (isForTheEnvironment()) {
                    registry.install(shared.struct());
                }
            } catch (Throwable e) {
                registry.endInstallation();
                throw e;
            }
        } catch (Throwable e) {
            shared.close();
            throw e;
        }
        shared.setRegistered(isForTheEnvironment());
        memories.forEach(memory -> memory.setRelief(this::makeRoom));
    }

    /**
     * Returns memory to a device: what is free, if that can be enough, or else the weights of the session that was used
     * least, of those that have no run in flight. A shrink first would have the runs of others grow again. Throws
     * nothing.
     *
     * @param byteSize the bytes that are wanted
     * @return whether memory was returned
     */
    private boolean makeRoom(InstalledMemory memory, long byteSize) {
        try {
            final AllocatorStats stats = memory.stats();
            final long most = stats.limit() < 0 ? stats.bytesHeld() : stats.limit();
            if (most - stats.bytesInUse() >= byteSize && memory.shrink().bytesReleased() > 0) {
                return true;
            }
            final List<AllocatorSession> open;
            synchronized (this) {
                open = List.copyOf(sessions);
            }
            return open.stream()
                            .filter(session -> session.bytesAwake(memory) > 0)
                            .map(session -> Map.entry(session.recentRuns(), session))
                            .sorted(Map.Entry.comparingByKey())
                            .anyMatch(session -> session.getValue().trySleep())
                    || memory.shrink().bytesReleased() > 0;
        } catch (RuntimeException e) {
            return false; // such as that a stream is captured
        }
    }

    /** Returns whether the first memory is the CPU's, which sessions of the environment may use. */
    private boolean isForTheEnvironment() {
        return shared.memory().equals(OrtMemory.CPU);
    }

    /**
     * Starts an installation.
     *
     * @param environment the environment of this process
     * @return a builder
     */
    public static Builder on(OrtEnvironment environment) {
        return new Builder(environment);
    }

    /**
     * Starts an installation on the environment of this process, which is created if there is none: on a thread with a
     * large stack, since with a long command line ONNX Runtime 1.29 ends the process on a usual one.
     *
     * @return a builder
     * @throws OnnxRuntimeException if ONNX Runtime cannot be loaded, or its version is not known
     */
    public static Builder onEnvironment() {
        try {
            EnvironmentReference.handle();
        } catch (IllegalCallerException | ExceptionInInitializerError | NoClassDefFoundError e) {
            throw NativeAccess.explain("memory for ONNX Runtime", OnnxRuntimeAllocators.class, e);
        }
        return on(OrtEnvironment.getEnvironment());
    }

    /**
     * Opens a session of a model in a file.
     *
     * @param model the file
     * @return the session, to be closed by the caller
     * @throws OrtException if ONNX Runtime cannot load it; if an allocation failed, the cause is its exception
     */
    public AllocatorSession openSession(Path model) throws OrtException {
        try (SessionOptions options = new SessionOptions()) {
            return openSession(model, options, SessionSettings.DEFAULT);
        }
    }

    /**
     * Opens a session of a model in a file.
     *
     * @param model the file
     * @param options ONNX Runtime's options; {@code session.use_env_allocators} is set to {@code 1}
     * @param settings name, budget and decorator of its memory
     * @return the session, to be closed by the caller
     * @throws OrtException as {@link #openSession(Path)}
     * @throws InvalidOptionException if GPU memory is installed and the options have settings of an arena of its own,
     *     {@code ep.cuda.arena.*}, which ONNX Runtime would ignore
     */
    public AllocatorSession openSession(Path model, SessionOptions options, SessionSettings settings)
            throws OrtException {
        return open(
                String.valueOf(model.getFileName()),
                () -> environment.createSession(model.toString(), options),
                options,
                settings);
    }

    /**
     * Opens a session of a model in memory.
     *
     * @param model the model's bytes
     * @param modelName the model's name, for messages
     * @param options ONNX Runtime's options; {@code session.use_env_allocators} is set to {@code 1}
     * @param settings name, budget and decorator of its memory
     * @return the session, to be closed by the caller
     * @throws OrtException as {@link #openSession(Path)}
     * @throws InvalidOptionException as {@link #openSession(Path, SessionOptions, SessionSettings)}
     */
    public AllocatorSession openSession(
            byte[] model, String modelName, SessionOptions options, SessionSettings settings) throws OrtException {
        return open(modelName, () -> environment.createSession(model, options), options, settings);
    }

    private AllocatorSession open(
            String model, Callable<OrtSession> create, SessionOptions options, SessionSettings settings)
            throws OrtException {
        if (memories.stream().anyMatch(memory -> memory.info().deviceType() == DeviceType.GPU)) {
            CudaOption.requireNoArena(options.getConfigEntries().entrySet());
        }
        begin();
        try {
            final ExportedSession memory = new ExportedSession(
                    memories,
                    settings,
                    new FailureLog(settings.name().orElse(model), model, inspection.snapshots()),
                    held);
            return open(memory, create, options);
        } finally {
            end();
        }
    }

    private synchronized void begin() {
        if (isClosed) {
            throw new IllegalStateException("the allocators are uninstalled");
        }
        underWay++;
    }

    private synchronized void end() {
        underWay--;
    }

    private AllocatorSession open(ExportedSession memory, Callable<OrtSession> create, SessionOptions options)
            throws OrtException {
        boolean isOpen = false;
        // Also if ONNX Runtime then fails to restore its registrations.
        final AtomicReference<@Nullable OrtSession> made = new AtomicReference<>();
        try {
            memory.beginRun();
            try {
                registry.whileRegistered(memory.allocators(), () -> {
                    made.set(profiled(memory, create, options));
                    return made;
                });
            } finally {
                memory.endRun(false);
            }
            memory.setCreated();
            memory.shareWeights();
            final AllocatorSession session = new AllocatorSession(Objects.requireNonNull(made.get()), memory);
            synchronized (this) {
                sessions.removeIf(OnnxRuntimeAllocators::hasClosed);
                sessions.add(session);
            }
            isOpen = true;
            AllocatorEvents.sessionOpened(session.name());
            return session;
        } catch (OrtException e) {
            throw memory.failures().explain(e);
        } finally {
            if (!isOpen) {
                abandon(made.get(), memory);
            }
        }
    }

    /** Closes what was made of a session that could not be opened. What is left, the close of all closes. */
    private void abandon(@Nullable OrtSession made, ExportedSession memory) throws OrtException {
        try {
            if (made != null) {
                made.close();
            }
        } finally {
            try {
                memory.close();
            } catch (Throwable e) {
                synchronized (this) {
                    abandoned.add(memory);
                }
            }
        }
    }

    /** Ends the export of a closed session, if it can be ended now; the close of all tries again. */
    private static boolean hasClosed(AllocatorSession session) {
        try {
            return session.closeIfUnused();
        } catch (Throwable e) {
            return false;
        }
    }

    /** Makes a session, with ONNX Runtime's profiler on if its memory is to be profiled. */
    private static OrtSession profiled(ExportedSession memory, Callable<OrtSession> create, SessionOptions options)
            throws OrtException {
        final BlockNames names = memory.names();
        if (names == null) {
            return make(create, options);
        }
        options.enableProfiling(names.file().prefix());
        try {
            return make(create, options);
        } finally {
            options.disableProfiling();
        }
    }

    private static OrtSession make(Callable<OrtSession> create, SessionOptions options) throws OrtException {
        if (!"1".equals(options.getConfigEntries().get(NativeEnvironment.USE_ENV_ALLOCATORS))) {
            options.addConfigEntry(NativeEnvironment.USE_ENV_ALLOCATORS, "1");
        }
        try {
            return create.call();
        } catch (OrtException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Explains an exception of a session that was not opened here but uses the environment's allocators, or of a run of
     * {@link AllocatorSession#session()} itself.
     *
     * @param failure the exception that ONNX Runtime threw
     * @return the same exception; if an allocation failed, its exception is now the cause
     */
    public OrtException explained(OrtException failure) {
        final String message = String.valueOf(failure.getMessage());
        final List<AllocatorSession> open;
        synchronized (this) {
            open = List.copyOf(sessions);
        }
        for (final AllocatorSession session : open) {
            if (message.contains(ExportedAllocator.failed(session.name()))) {
                session.explain(failure);
            }
        }
        return message.contains(ExportedAllocator.failed(ENVIRONMENT))
                ? shared.failures().explain(failure)
                : failure;
    }

    /**
     * {@return the installed memories, at least one: that of the CPU first, then for each GPU its own memory and its
     * pinned memory}
     */
    public List<InstalledMemory> memories() {
        return memories;
    }

    /**
     * {@return the installed memory of a GPU: the device's own}
     *
     * @param ordinal the device's ordinal
     * @throws IllegalArgumentException if none is installed
     */
    public InstalledMemory gpu(int ordinal) {
        return find(MemoryType.DEFAULT, ordinal, memories, InstalledMemory::info);
    }

    /**
     * {@return the installed pinned memory of a GPU: memory of the host that the device reaches}
     *
     * @param ordinal the device's ordinal
     * @throws IllegalArgumentException if none is installed
     */
    public InstalledMemory pinned(int ordinal) {
        return find(MemoryType.HOST_ACCESSIBLE, ordinal, memories, InstalledMemory::info);
    }

    /** Finds a memory of a GPU. */
    static <T> T find(MemoryType type, int ordinal, List<T> memories, Function<T, MemoryInfo> info) {
        for (final T memory : memories) {
            final MemoryInfo candidate = info.apply(memory);
            if (candidate.deviceType() == DeviceType.GPU
                    && candidate.memoryType() == type
                    && candidate.deviceOrdinal() == ordinal) {
                return memory;
            }
        }
        throw new IllegalArgumentException("no " + (type == MemoryType.DEFAULT ? "" : "pinned ") + "memory of gpu:"
                + ordinal + " is installed; there are "
                + memories.stream().map(info).toList());
    }

    /**
     * {@return the allocator of the first memory, beneath all sessions: the one that was given, or that the provider
     * created}
     */
    public Allocator allocator() {
        return memories.getFirst().allocator();
    }

    /**
     * {@return the statistics of the first memory, for all sessions together; {@link AllocatorStats#NONE} if it has
     * none}
     */
    public AllocatorStats stats() {
        return memories.getFirst().stats();
    }

    /**
     * {@return an observation of the installed memories, such as by meters, which ends with this at the latest}
     *
     * @param listener what is called, at once for each memory
     * @throws IllegalStateException if this is closed
     */
    public Observation observe(AllocatorListener listener) {
        return inspection.observers().add(listener);
    }

    /**
     * {@return what the installed memories hold, chunk by chunk, with their sessions} May be called at any time; other
     * calls wait for it as {@link allocator.spi.InspectableAllocator#inspect} says.
     */
    public Snapshot snapshot() {
        return HeldBlocks.snapshot(null, memories);
    }

    /** {@return what all sessions together have in use of the first memory, in requested bytes} */
    public long bytesInUse() {
        return memories.getFirst().bytesInUse();
    }

    /**
     * Sets the most that all sessions together may have in use of the first memory from now on, in requested bytes.
     * Live blocks stay valid. What the allocator may take from the system is limited by its own options, such as
     * {@code arena.max_mem}.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public void setBudget(long bytes) {
        memories.getFirst().setBudget(bytes);
    }

    /**
     * Returns unused memory to the system and the devices. May be called at any time, also while sessions run. If a
     * memory throws, the others are shrunk too.
     *
     * @return what was returned of all memories, and what is still held; nothing is returned by an allocator that
     *     cannot be shrunk
     */
    public ShrinkReport shrink() {
        ShrinkReport sum = null;
        final Failures failures = new Failures();
        for (final InstalledMemory memory : memories) {
            try {
                final ShrinkReport report = memory.shrink();
                sum = sum == null ? report : sum.plus(report);
            } catch (Throwable e) {
                failures.add(e);
            }
        }
        failures.throwIfAny();
        return Objects.requireNonNull(sum);
    }

    /**
     * Calls the allocator as ONNX Runtime does until the JVM has compiled the path. Without it the first thousands of
     * calls are interpreted and take about ten microseconds each; a model that allocates twice in a run is slower for
     * thousands of runs. Takes about ten milliseconds; the allocations count as the environment's. A close meanwhile is
     * rejected, as while a session is being opened.
     *
     * @throws IllegalStateException if this is closed
     * @throws OnnxRuntimeException if an allocation fails
     */
    public void warmUp() {
        begin();
        try {
            for (int i = 0; i < WARM_UP_CALLS; i++) {
                final long block =
                        registry.api().create(OrtApi.Function.ALLOCATOR_ALLOC, shared.struct(), WARM_UP_BYTES);
                registry.api().call(OrtApi.Function.ALLOCATOR_FREE, shared.struct(), block);
            }
        } finally {
            end();
        }
    }

    /**
     * Uninstalls the allocators from the environment and releases them to their providers. A second call tries again
     * what failed, and otherwise does nothing.
     *
     * <p>A session created with {@link OrtEnvironment#createSession} that is still open is not known here. Its later
     * allocations fail, and its runs throw.
     *
     * @throws IllegalStateException if sessions are open or being opened, an allocator is being warmed up, or ONNX
     *     Runtime holds memory of an allocator, or tensors of the program are open; the message names the session, and
     *     nothing changes, apart from a report that {@link #LEAKS} asks for; or if an allocator does not take a block
     *     back, and another call tries again
     * @throws allocator.spi.DeviceException if a device cannot confirm that the work of a closed session is done;
     *     another call tries again
     */
    @Override
    public void close() {
        try {
            closeUnused();
        } catch (IllegalStateException e) {
            held.reportAll(memories, states());
            throw e;
        }
    }

    private synchronized List<SessionState> states() {
        return sessions.stream()
                .map(session -> new SessionState(session.name(), !session.isOpen(), session.liveBlocks()))
                .toList();
    }

    private synchronized void closeUnused() {
        if (!isClosed) {
            uninstall();
            isClosed = true;
            inspection.end();
        }
        final Failures failures = new Failures();
        for (final InstalledMemory memory : memories) {
            failures.run(memory.target()::release);
        }
        failures.throwIfAny();
    }

    private void uninstall() {
        if (underWay > 0) {
            throw new IllegalStateException("a session is being opened, or the allocator warmed up");
        }
        sessions.removeIf(AllocatorSession::closeIfUnused);
        for (final AllocatorSession session : sessions) {
            throw new IllegalStateException(
                    session.isOpen()
                            ? "the session " + session.name() + " is open; close it first"
                            : session.obstacle());
        }
        abandoned.forEach(ExportedSession::close);
        abandoned.clear();
        shared.setRegistered(false);
        try {
            memories.forEach(InstalledMemory::closeTensors);
            final String obstacle = shared.obstacle();
            if (obstacle != null) {
                throw new IllegalStateException(obstacle);
            }
            registry.uninstall(shared.struct());
            shared.close();
        } catch (Throwable e) {
            restore();
            throw e;
        }
        registry.endInstallation();
    }

    /** Undoes what a rejected close has done. */
    private void restore() {
        memories.forEach(InstalledMemory::reopenTensors);
        if (isForTheEnvironment()) {
            registry.install(shared.struct());
            shared.setRegistered(true);
        }
    }

    /** Collects the settings of an installation. Not safe for use by several threads. */
    public static final class Builder {
        private static final String ORIGIN = "OnnxRuntimeAllocators";

        private static final OptionKey<Boolean> SHARING =
                OptionKey.flag(SHARE_WEIGHTS, false, "1: equal weights of sessions have one copy");

        private static final OptionKey<Boolean> CPU_SHARING = OptionKey.choice(
                SHARE_WEIGHTS, false, Map.of("0", false, "1", true, "machine", true), SHARING.description());

        private final OrtEnvironment environment;
        private final Map<String, String> options = new TreeMap<>();
        private @Nullable EpFactory factory;
        private @Nullable String providerName;
        private @Nullable Allocator allocator;
        private long budget = AllocatorStats.UNLIMITED;
        private boolean sharesWeights = SHARING.defaultValue();
        private final InspectionOptions inspection = new InspectionOptions(ORIGIN, HeldBlocks.FRAMES);

        /** How many blocks are recorded, as their option says it; {@code null} if it is not set. */
        private @Nullable Integer callSites;

        private final Map<Integer, GpuMemory> gpus = new TreeMap<>();

        private Builder(OrtEnvironment environment) {
            this.environment = Objects.requireNonNull(environment, "environment");
        }

        /**
         * Takes CPU memory from a provider on the module path or the class path.
         *
         * @param name the provider's name, such as {@code cpu-reference}
         * @return this builder
         */
        public Builder provider(String name) {
            providerName = Objects.requireNonNull(name, "name");
            return this;
        }

        /**
         * Takes CPU memory from a provider that the caller closes, after the installation.
         *
         * @param provider the provider
         * @return this builder
         */
        public Builder provider(EpFactory provider) {
            factory = Objects.requireNonNull(provider, "provider");
            return this;
        }

        /**
         * Takes CPU memory from an allocator that the caller releases, after the installation.
         *
         * @param target an allocator of memory that the CPU can read and write, aligned to 64 bytes or more
         * @return this builder
         */
        public Builder allocator(Allocator target) {
            allocator = Objects.requireNonNull(target, "target");
            return this;
        }

        /**
         * Sets an option: for CPU memory {@link #SHARE_WEIGHTS}; for all {@link #LEAKS}, {@link #LEAKS_REPORT}, and of
         * those of an environment and a session of the runtime {@link EnvironmentBuilder#SNAPSHOT_ON_FAILURE},
         * {@link EnvironmentBuilder#HISTORY}, {@link EnvironmentBuilder#JMX} and
         * {@link allocator.runtime.SessionOptions#CALL_SITES}, which mean the same here; otherwise one of the
         * provider's allocator of CPU memory.
         *
         * @param key the key, such as {@code arena.max_mem}
         * @param value its value
         * @return this builder
         * @throws InvalidOptionException if the value is not accepted; that of a provider's key is checked by
         *     {@link #install}
         */
        public Builder option(String key, String value) {
            if (key.equals(CALL_SITES.name())) {
                callSites = CALL_SITES.parse(value, ORIGIN);
            } else if (key.equals(SHARE_WEIGHTS)) {
                sharesWeights = CPU_SHARING.parse(value, ORIGIN);
                options.compute(key, (_, _) -> value.equals("machine") ? value : null); // which is up to the provider
            } else if (!inspection.set(key, value)) {
                options.put(key, value);
            }
            return this;
        }

        /**
         * Takes the memory of a CUDA device from a provider: the device's own memory and pinned host memory. Settings
         * of the same device that were given before are replaced.
         *
         * @param memory provider, device, options and budget
         * @return this builder
         */
        public Builder gpu(GpuMemory memory) {
            gpus.put(memory.ordinal(), memory);
            return this;
        }

        /**
         * Sets the most CPU memory that all sessions together may have in use, in requested bytes.
         *
         * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
         * @return this builder
         */
        public Builder budget(long bytes) {
            budget = bytes;
            return this;
        }

        /**
         * Installs the allocators. A provider creates instances for this installation, so that the options apply.
         *
         * @return the installation, to be closed by the caller after its sessions
         * @throws IllegalArgumentException if nothing was chosen; if a provider is not found or lacks the memory; if
         *     blocks are aligned to less than ONNX Runtime needs, 64 bytes for CPU memory; or if options are given
         *     together with an allocator
         * @throws IllegalStateException if another installation is not closed
         * @throws UnsupportedOperationException if GPU memory was chosen on a platform other than Linux on x86-64 with
         *     GNU's C++ library, where a failed allocation could not be reported to ONNX Runtime; nothing is installed
         * @throws InvalidOptionException if an option is unknown or its value not accepted, or {@link #LEAKS_REPORT} is
         *     set without {@link #LEAKS}
         * @throws OnnxRuntimeException if ONNX Runtime cannot be loaded, or its version is not known
         */
        public OnnxRuntimeAllocators install() {
            try {
                return install(Platform.current());
            } catch (IllegalCallerException | ExceptionInInitializerError | NoClassDefFoundError e) {
                throw NativeAccess.explain("memory for ONNX Runtime", OnnxRuntimeAllocators.class, e);
            }
        }

        OnnxRuntimeAllocators install(Platform platform) {
            if (!gpus.isEmpty()) {
                ThrowingThunk.requireSupported(
                        platform,
                        "GPU memory for sessions of ONNX Runtime",
                        "Leave gpu(...) out: ONNX Runtime's own allocators serve the GPU then");
            }
            final LeakReports reports = inspection.leakReports();
            final HeldBlocks held = new HeldBlocks(reports, callSites == null ? reports.interval() : callSites);
            final NativeEnvironment registry = NativeEnvironment.get();
            final List<InstalledMemory> memories = new ArrayList<>();
            try {
                addCpu(memories);
                gpus.values().forEach(gpu -> addGpu(memories, gpu));
                if (memories.isEmpty()) {
                    throw new IllegalArgumentException("neither a provider nor an allocator was chosen");
                }
                return install(registry, List.copyOf(memories), held);
            } catch (Throwable e) {
                memories.reversed().forEach(memory -> memory.target().releaseAfter(e));
                throw e;
            }
        }

        private OnnxRuntimeAllocators install(
                NativeEnvironment registry, List<InstalledMemory> memories, HeldBlocks held) {
            final Inspection begun = new Inspection(
                    inspection,
                    failure -> HeldBlocks.snapshot(failure, memories),
                    () -> memories.stream().map(memory -> memory.use(AllocatorReport.ENVIRONMENT)));
            try {
                begun.begin();
                return new OnnxRuntimeAllocators(environment, registry, memories, held, begun);
            } catch (Throwable e) {
                begun.end();
                throw e;
            }
        }

        private void addCpu(List<InstalledMemory> memories) {
            if (allocator != null) {
                if (!options.isEmpty()) {
                    throw new IllegalArgumentException(
                            "options " + options.keySet() + " are for a provider's allocator");
                }
                memories.add(new InstalledMemory(TargetAllocator.ofCpu(allocator), budget, NO_STREAMS, sharesWeights));
                return;
            }
            final TargetProvider provider = provider(factory, providerName);
            if (provider != null) {
                try {
                    add(memories, provider, provider.cpuMemory(), options, budget, NO_STREAMS, sharesWeights);
                } catch (Throwable e) {
                    provider.closeIfUnusedAfter(e);
                    throw e;
                }
            } else if (sharesWeights || !options.isEmpty()) {
                throw new IllegalArgumentException(
                        (options.isEmpty() ? SHARE_WEIGHTS + " is" : "options " + options.keySet() + " are")
                                + " for CPU memory, of which no provider was chosen; those of a GPU go to GpuMemory");
            }
        }

        private static void addGpu(List<InstalledMemory> memories, GpuMemory gpu) {
            final TargetProvider provider = Objects.requireNonNull(
                    provider(gpu.provider().orElse(null), gpu.providerName().orElse(null)));
            try {
                final EpDevice device = provider.gpu(gpu.ordinal());
                final MemoryInfo own = device.defaultMemory().orElseThrow();
                final StreamViews views =
                        new StreamViews(handle -> provider.factory().viewSyncStream(own, handle));
                final Map<String, String> options = new TreeMap<>(gpu.options());
                final String sharing = options.remove(SHARE_WEIGHTS);
                final boolean sharesWeights = sharing != null && SHARING.parse(sharing, "GpuMemory");
                add(memories, provider, own, options, gpu.budget(), views, sharesWeights);
                device.hostAccessibleMemory()
                        .ifPresent(pinned -> add(
                                memories,
                                provider,
                                pinned,
                                gpu.pinnedOptions(),
                                AllocatorStats.UNLIMITED,
                                views,
                                false));
            } catch (Throwable e) {
                provider.closeIfUnusedAfter(e);
                throw e;
            }
        }

        /** Adds an allocator of a provider to the memories; nothing is created if it throws. */
        private static void add(
                List<InstalledMemory> memories,
                TargetProvider provider,
                MemoryInfo info,
                Map<String, String> options,
                long budget,
                StreamViews views,
                boolean sharesWeights) {
            final TargetAllocator target = TargetAllocator.create(provider, info, options);
            try {
                memories.add(new InstalledMemory(target, budget, views, sharesWeights));
            } catch (Throwable e) {
                target.releaseAfter(e);
                throw e;
            }
        }

        private static @Nullable TargetProvider provider(@Nullable EpFactory factory, @Nullable String name) {
            if (factory != null) {
                return TargetProvider.of(factory);
            }
            return name == null ? null : TargetProvider.find(name);
        }
    }
}
