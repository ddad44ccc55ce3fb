package allocator.onnxruntime;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.block.SessionBudget;
import allocator.onnxruntime.support.OrtApi.Function;
import allocator.provider.support.StackReserve;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.ShrinkReport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * An allocator of this project, installed on ONNX Runtime's environment: sessions take their CPU memory from it.
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
 * <p>Sessions opened here share one allocator, but each has its own statistics, budget and failures. A session created
 * with {@link OrtEnvironment#createSession} uses the allocator too if its options set
 * {@code session.use_env_allocators} to {@code 1}; all such sessions are counted together, as the environment's.
 *
 * <p>Only CPU memory is provided. A process has one environment, and at most one installation at a time.
 */
// One class, since most of it documents one public type and its builder.
public final class OnnxRuntimeAllocators implements AutoCloseable {
    private static final String ENVIRONMENT = "the environment";
    private static final int WARM_UP_CALLS = 30_000;
    private static final long WARM_UP_BYTES = 1000;

    private final OrtEnvironment environment;
    private final NativeEnvironment registry;
    private final Allocator allocator;
    private final TargetAllocator target;
    private final SessionBudget budget;
    private final ExportedAllocator shared;
    private final List<AllocatorSession> sessions = new ArrayList<>();

    /** What is owed of sessions that could not be opened. Guarded by this. */
    private final List<ExportedAllocator> abandoned = new ArrayList<>();

    /** The calls that use the export or make another: sessions being opened, and warm-ups. Guarded by this. */
    private int underWay;

    private boolean isClosed;

    private OnnxRuntimeAllocators(
            OrtEnvironment environment, NativeEnvironment registry, TargetAllocator target, long budgetBytes) {
        this.environment = environment;
        this.registry = registry;
        allocator = target.allocator();
        this.target = target;
        budget = new SessionBudget(null, budgetBytes);
        shared = new ExportedAllocator(
                allocator, new SessionBudget(budget, AllocatorStats.UNLIMITED), ENVIRONMENT, "of any session");
        boolean isInstalled = false;
        try {
            registry.install(shared.struct());
            isInstalled = true;
        } finally {
            if (!isInstalled) {
                shared.close();
            }
        }
        shared.setRegistered(true);
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
     */
    public AllocatorSession openSession(
            byte[] model, String modelName, SessionOptions options, SessionSettings settings) throws OrtException {
        return open(modelName, () -> environment.createSession(model, options), options, settings);
    }

    private AllocatorSession open(
            String model, Callable<OrtSession> create, SessionOptions options, SessionSettings settings)
            throws OrtException {
        begin();
        try {
            final ExportedAllocator memory = new ExportedAllocator(
                    settings.decorator().apply(allocator),
                    new SessionBudget(budget, settings.budget()),
                    settings.name().orElse(model),
                    model);
            return open(memory, create, options);
        } finally {
            end();
        }
    }

    private synchronized void begin() {
        StackReserve.touch();
        if (isClosed) {
            throw new IllegalStateException("the allocators are uninstalled");
        }
        underWay++;
    }

    private synchronized void end() {
        underWay--;
    }

    private AllocatorSession open(ExportedAllocator memory, Callable<OrtSession> create, SessionOptions options)
            throws OrtException {
        boolean isOpen = false;
        OrtSession made = null;
        try {
            made = registry.whileRegistered(memory.struct(), () -> make(create, options));
            final AllocatorSession session = new AllocatorSession(made, memory);
            synchronized (this) {
                sessions.removeIf(OnnxRuntimeAllocators::hasClosed);
                sessions.add(session);
            }
            isOpen = true;
            return session;
        } catch (OrtException e) {
            throw memory.failures().explain(e);
        } finally {
            if (!isOpen) {
                abandon(made, memory);
            }
        }
    }

    /** Closes what was made of a session that could not be opened. */
    private void abandon(@Nullable OrtSession made, ExportedAllocator memory) throws OrtException {
        if (made != null) {
            made.close();
        }
        if (memory.obstacle() == null) {
            try {
                memory.close();
            } catch (IllegalStateException | Error e) {
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
        } catch (IllegalStateException | Error e) {
            return false;
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
     * Explains an exception of a session that was not opened here but uses the environment's allocators.
     *
     * @param failure the exception that ONNX Runtime threw
     * @return the same exception; if an allocation failed, its exception is now the cause
     */
    public OrtException explained(OrtException failure) {
        return shared.failures().explain(failure);
    }

    /**
     * Returns the allocator beneath all sessions.
     *
     * @return the allocator that was given, or that the provider created
     */
    public Allocator allocator() {
        return allocator;
    }

    /**
     * Returns the allocator's statistics, for all sessions together.
     *
     * @return the statistics; {@link AllocatorStats#NONE} if it has none
     */
    public AllocatorStats stats() {
        return ExportedAllocator.stats(allocator);
    }

    /**
     * Returns what all sessions together have in use.
     *
     * @return requested bytes
     */
    public long bytesInUse() {
        return budget.used();
    }

    /**
     * Sets the most that all sessions together may have in use from now on, in requested bytes. Live blocks stay valid.
     * What the allocator may take from the system is limited by its own options, such as {@code arena.max_mem}.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public void setBudget(long bytes) {
        budget.setLimit(bytes);
    }

    /**
     * Returns unused memory to the system. May be called at any time, also while sessions run.
     *
     * @return what was returned and what is still held; nothing is returned if the allocator cannot be shrunk
     */
    public ShrinkReport shrink() {
        return ExportedAllocator.shrink(allocator);
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
                final long block = registry.api().create(Function.ALLOCATOR_ALLOC, shared.struct(), WARM_UP_BYTES);
                registry.api().call(Function.ALLOCATOR_FREE, shared.struct(), block);
            }
        } finally {
            end();
        }
    }

    /**
     * Uninstalls the allocator from the environment and releases it to its provider. A second call tries again what
     * failed, and otherwise does nothing.
     *
     * <p>A session created with {@link OrtEnvironment#createSession} that is still open is not known here. Its later
     * allocations fail, and its runs throw.
     *
     * @throws IllegalStateException if sessions are open or being opened, the allocator is being warmed up, or ONNX
     *     Runtime holds memory of the allocator; the message names the session, and nothing changes; or if the
     *     allocator does not take a block back, and another call tries again
     */
    @Override
    public synchronized void close() {
        if (!isClosed) {
            uninstall();
            isClosed = true;
        }
        target.release();
    }

    private void uninstall() {
        if (underWay > 0) {
            throw new IllegalStateException("a session is being opened, or the allocator warmed up");
        }
        sessions.removeIf(AllocatorSession::closeIfUnused);
        for (final AllocatorSession session : sessions) {
            final String obstacle = session.memory().obstacle();
            throw new IllegalStateException(
                    session.isOpen() ? "the session " + session.name() + " is open; close it first" : obstacle);
        }
        abandoned.forEach(ExportedAllocator::close);
        abandoned.clear();
        boolean isUninstalled = false;
        shared.setRegistered(false);
        try {
            final String obstacle = shared.obstacle();
            if (obstacle != null) {
                throw new IllegalStateException(obstacle);
            }
            registry.uninstall(shared.struct());
            isUninstalled = true;
        } finally {
            if (!isUninstalled) {
                shared.setRegistered(true);
            }
        }
        shared.close();
    }

    /** Collects the settings of an installation. Not safe for use by several threads. */
    public static final class Builder {
        private final OrtEnvironment environment;
        private final Map<String, String> options = new TreeMap<>();
        private @Nullable EpFactory factory;
        private @Nullable String providerName;
        private @Nullable Allocator allocator;
        private long budget = AllocatorStats.UNLIMITED;

        private Builder(OrtEnvironment environment) {
            this.environment = Objects.requireNonNull(environment, "environment");
        }

        /**
         * Takes the allocator from a provider on the module path or the class path.
         *
         * @param name the provider's name, such as {@code cpu-reference}
         * @return this builder
         */
        public Builder provider(String name) {
            providerName = Objects.requireNonNull(name, "name");
            return this;
        }

        /**
         * Takes the allocator from a provider that the caller closes, after the installation.
         *
         * @param provider the provider
         * @return this builder
         */
        public Builder provider(EpFactory provider) {
            factory = Objects.requireNonNull(provider, "provider");
            return this;
        }

        /**
         * Takes an allocator that the caller releases, after the installation.
         *
         * @param target an allocator of memory that the CPU can read and write, aligned to 64 bytes or more
         * @return this builder
         */
        public Builder allocator(Allocator target) {
            allocator = Objects.requireNonNull(target, "target");
            return this;
        }

        /**
         * Sets an option of the provider's allocator.
         *
         * @param key the key, such as {@code arena.max_mem}
         * @param value its value
         * @return this builder
         */
        public Builder option(String key, String value) {
            options.put(key, value);
            return this;
        }

        /**
         * Sets the most that all sessions together may have in use, in requested bytes.
         *
         * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
         * @return this builder
         */
        public Builder budget(long bytes) {
            budget = bytes;
            return this;
        }

        /**
         * Installs the allocator. A provider creates an instance for this installation, so that the options apply.
         *
         * @return the installation, to be closed by the caller after its sessions
         * @throws IllegalArgumentException if the provider is not found or has no CPU memory, if blocks are aligned to
         *     less than 64 bytes, or if options are given together with an allocator
         * @throws IllegalStateException if another installation is not closed
         * @throws InvalidOptionException if an option is unknown or its value not accepted
         * @throws OnnxRuntimeException if ONNX Runtime cannot be loaded, or its version is not known
         */
        public OnnxRuntimeAllocators install() {
            final NativeEnvironment registry = NativeEnvironment.get();
            final TargetAllocator target = target();
            try {
                return new OnnxRuntimeAllocators(environment, registry, target, budget);
            } catch (Throwable e) {
                target.releaseAfter(e);
                throw e;
            }
        }

        private TargetAllocator target() {
            if (allocator != null) {
                if (!options.isEmpty()) {
                    throw new IllegalArgumentException(
                            "options " + options.keySet() + " are for a provider's allocator");
                }
                return TargetAllocator.of(allocator);
            }
            if (factory != null) {
                return TargetAllocator.create(factory, options);
            }
            if (providerName == null) {
                throw new IllegalArgumentException("neither a provider nor an allocator was chosen");
            }
            return TargetAllocator.create(providerName, options);
        }
    }
}
