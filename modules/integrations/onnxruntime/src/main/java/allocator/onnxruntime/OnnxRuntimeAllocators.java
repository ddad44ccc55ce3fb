package allocator.onnxruntime;

import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import allocator.onnxruntime.OrtApi.Function;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkReport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * An allocator of this project, installed on ONNX Runtime's environment: sessions take their CPU memory from it.
 *
 * <p>{@snippet lang="java" : try (OnnxRuntimeAllocators memory =
 * OnnxRuntimeAllocators.on(OrtEnvironment.getEnvironment()) .provider("cpu-reference") .option("arena.max_mem",
 * "67108864") .install(); AllocatorSession session = memory.openSession(Path.of("model.onnx")); OrtSession.Result
 * result = session.run(inputs)) { use(result); System.out.println(memory.stats()); } }
 *
 * <p>Sessions that are opened here are told apart: each has its own statistics, budget and failures, over one allocator
 * that they share. Sessions that are made with {@link OrtEnvironment#createSession} use the allocator too if their
 * options set {@code session.use_env_allocators} to {@code 1}; they count as the environment's own.
 *
 * <p>Only memory of the CPU is provided. A process has one environment, and at most one installation at a time.
 */
public final class OnnxRuntimeAllocators implements AutoCloseable {
    private static final String ENVIRONMENT = "the environment";
    private static final int WARM_UP_CALLS = 30_000;
    private static final long WARM_UP_BYTES = 1000;

    private final OrtEnvironment environment;
    private final NativeEnvironment registry;
    private final Allocator allocator;
    private final Runnable release;
    private final Budget budget;
    private final ExportedAllocator shared;
    private final List<AllocatorSession> sessions = new ArrayList<>();
    private int opening;
    private boolean isClosed;

    private OnnxRuntimeAllocators(
            OrtEnvironment environment,
            NativeEnvironment registry,
            Allocator allocator,
            Runnable release,
            long budgetBytes) {
        this.environment = environment;
        this.registry = registry;
        this.allocator = allocator;
        this.release = release;
        budget = new Budget(null, budgetBytes);
        shared = new ExportedAllocator(
                allocator, new Budget(budget, AllocatorStats.UNLIMITED), ENVIRONMENT, "of any session");
        registry.install(shared.struct());
        shared.setRegistered(true);
    }

    /**
     * Begins an installation.
     *
     * @param environment the environment of this process
     * @return a builder
     */
    public static Builder on(OrtEnvironment environment) {
        return new Builder(environment);
    }

    // Sessions.

    /**
     * Opens a session of a model in a file.
     *
     * @param model the file
     * @return the session, to be closed by the caller
     * @throws OrtException if ONNX Runtime cannot load it; if that is for lack of memory, the cause says so
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
     * @param settings what is particular to its memory
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
     * @param modelName what to call the model
     * @param options ONNX Runtime's options; {@code session.use_env_allocators} is set to {@code 1}
     * @param settings what is particular to its memory
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
        synchronized (this) {
            requireOpen();
            opening++;
        }
        try {
            final ExportedAllocator memory = new ExportedAllocator(
                    settings.decorator().apply(allocator),
                    new Budget(budget, settings.budget()),
                    settings.name().orElse(model),
                    model);
            return open(memory, create, options);
        } finally {
            synchronized (this) {
                opening--;
            }
        }
    }

    private AllocatorSession open(ExportedAllocator memory, Callable<OrtSession> create, SessionOptions options)
            throws OrtException {
        boolean isOpen = false;
        try {
            final AllocatorSession session = new AllocatorSession(
                    registry.whileRegistered(memory.struct(), () -> make(create, options)), memory);
            synchronized (this) {
                sessions.removeIf(OnnxRuntimeAllocators::endIfOver);
                sessions.add(session);
            }
            isOpen = true;
            return session;
        } catch (OrtException e) {
            throw explained(e, memory);
        } finally {
            if (!isOpen && memory.obstacle() == null) {
                memory.close();
            }
        }
    }

    private static OrtSession make(Callable<OrtSession> create, SessionOptions options) throws OrtException {
        if (!"1".equals(options.getConfigEntries().get(SessionConfig.USE_ENV_ALLOCATORS))) {
            options.addConfigEntry(SessionConfig.USE_ENV_ALLOCATORS, "1");
        }
        try {
            return create.call();
        } catch (OrtException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean endIfOver(AllocatorSession session) {
        if (session.isOpen() || session.liveBlocks() > 0) {
            return false;
        }
        session.memory().close();
        return true;
    }

    /** Gives {@code e} the refusal behind it as its cause, if there is one. */
    static OrtException explained(OrtException e, ExportedAllocator memory) {
        if (e.getCause() == null && String.valueOf(e.getMessage()).contains(ExportedAllocator.REFUSED)) {
            memory.takeFailure().ifPresent(failure -> {
                final OrtException ignored = (OrtException) e.initCause(failure.cause());
            });
        }
        return e;
    }

    /**
     * Says why ONNX Runtime failed in a session that was not opened here but uses the environment's allocators.
     *
     * @param failure what it threw
     * @return the same exception; where memory was refused, with that as its cause
     */
    public OrtException explained(OrtException failure) {
        return explained(failure, shared);
    }

    // Memory.

    /**
     * The allocator beneath all sessions.
     *
     * @return the allocator that was given, or that the provider made
     */
    public Allocator allocator() {
        return allocator;
    }

    /**
     * The allocator's statistics: what it holds for all sessions.
     *
     * @return the statistics; {@link AllocatorStats#NONE} if it keeps none
     */
    public AllocatorStats stats() {
        return ExportedAllocator.stats(allocator);
    }

    /**
     * What all sessions together have in use, in bytes that they asked for.
     *
     * @return bytes
     */
    public long bytesInUse() {
        return budget.used();
    }

    /**
     * Sets the most that all sessions together may have in use from now on, in bytes that they ask for. The most that
     * may be taken from the system is the allocator's own limit, such as the option {@code arena.max_mem}.
     *
     * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
     */
    public void setBudget(long bytes) {
        budget.setLimit(bytes);
    }

    /**
     * Returns what no session uses to the system, at any time, whether or not sessions run.
     *
     * @return what went back and what stays; nothing went back if the allocator cannot shrink
     */
    public ShrinkReport shrink() {
        return ExportedAllocator.shrink(allocator);
    }

    /**
     * Calls the allocator as ONNX Runtime does until the JVM has compiled what is on the way. Without this the first
     * thousands of calls are interpreted, at some ten microseconds each; a model that allocates twice in a run meets
     * that for thousands of runs. Takes some ten milliseconds; the allocations count as the environment's.
     *
     * @throws OnnxRuntimeException if the allocator refuses
     */
    public void warmUp() {
        for (int i = 0; i < WARM_UP_CALLS; i++) {
            final long block = registry.api().create(Function.ALLOCATOR_ALLOC, shared.struct(), WARM_UP_BYTES);
            registry.api().call(Function.ALLOCATOR_FREE, shared.struct(), block);
        }
    }

    // The end.

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("the allocators are uninstalled");
        }
    }

    /**
     * Uninstalls the allocator from the environment and gives it back to its provider. A second call does nothing.
     *
     * <p>A session that was made with {@link OrtEnvironment#createSession} and is still open is not known here; memory
     * that it asks for later is refused, which ends its run with an exception.
     *
     * @throws IllegalStateException if sessions are open or ONNX Runtime holds memory of the allocator; it says which,
     *     and nothing changes
     */
    @Override
    public synchronized void close() {
        if (isClosed) {
            return;
        }
        if (opening > 0) {
            throw new IllegalStateException("a session is being opened");
        }
        sessions.removeIf(OnnxRuntimeAllocators::endIfOver);
        for (final AllocatorSession session : sessions) {
            final String obstacle = session.memory().obstacle();
            throw new IllegalStateException(
                    session.isOpen() ? "the session " + session.name() + " is open; close it first" : obstacle);
        }
        shared.setRegistered(false);
        final String obstacle = shared.obstacle();
        if (obstacle != null) {
            shared.setRegistered(true);
            throw new IllegalStateException(obstacle);
        }
        registry.uninstall(shared.struct());
        shared.close();
        isClosed = true;
        release.run();
    }

    /** Collects what an installation needs. Not for use by several threads. */
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
         * Takes the allocator from a provider that the caller has, and closes.
         *
         * @param provider the provider
         * @return this builder
         */
        public Builder provider(EpFactory provider) {
            factory = Objects.requireNonNull(provider, "provider");
            return this;
        }

        /**
         * Takes an allocator that the caller has, and releases.
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
         * Sets the most that all sessions together may have in use, in bytes that they ask for.
         *
         * @param bytes the budget, {@link AllocatorStats#UNLIMITED} for none
         * @return this builder
         */
        public Builder budget(long bytes) {
            budget = bytes;
            return this;
        }

        /**
         * Installs the allocator. With a provider it is an instance of its own, so that the options apply.
         *
         * @return the installation, to be closed by the caller after its sessions
         * @throws IllegalArgumentException if the provider is not found or has no memory of the CPU, if blocks begin at
         *     multiples of less than 64, or if options are given together with an allocator
         * @throws IllegalStateException if there is an installation already
         * @throws InvalidOptionException if an option is unknown or its value not accepted
         * @throws OnnxRuntimeException if ONNX Runtime cannot be loaded, or its version is not known
         */
        public OnnxRuntimeAllocators install() {
            final NativeEnvironment registry = NativeEnvironment.get();
            if (allocator != null) {
                return install(registry, allocator);
            }
            final boolean isOwn = factory == null;
            final EpFactory provider = factory == null ? find(providerName) : factory;
            try {
                return install(registry, provider, isOwn);
            } catch (RuntimeException e) {
                if (isOwn) {
                    provider.close();
                }
                throw e;
            }
        }

        private OnnxRuntimeAllocators install(NativeEnvironment registry, Allocator target) {
            if (!options.isEmpty()) {
                throw new IllegalArgumentException("options " + options.keySet() + " are for a provider's allocator");
            }
            requireCpu(target.info());
            return new OnnxRuntimeAllocators(environment, registry, target, () -> {}, budget);
        }

        private OnnxRuntimeAllocators install(NativeEnvironment registry, EpFactory provider, boolean isOwn) {
            final var discovery = provider.discoverDevices();
            final MemoryInfo info = discovery.devices().stream()
                    .flatMap(device -> device.defaultMemory().stream())
                    .filter(memory -> memory.deviceType() == DeviceType.CPU)
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException(
                            "provider " + provider.name() + " has no memory of the CPU: " + discovery));
            AllocatorOptions asked = AllocatorOptions.of(options);
            final boolean shares =
                    provider.optionKeys().stream().anyMatch(key -> key.name().equals(OptionKey.EXCLUSIVE.name()));
            if (shares && !options.containsKey(OptionKey.EXCLUSIVE.name())) {
                asked = asked.with(OptionKey.EXCLUSIVE.name(), "1", "OnnxRuntimeAllocators");
            }
            requireCpu(info);
            final Allocator made = provider.createAllocator(info, asked);
            try {
                return new OnnxRuntimeAllocators(
                        environment,
                        registry,
                        made,
                        () -> {
                            provider.releaseAllocator(made);
                            if (isOwn) {
                                provider.close();
                            }
                        },
                        budget);
            } catch (RuntimeException e) {
                provider.releaseAllocator(made);
                throw e;
            }
        }

        private static void requireCpu(MemoryInfo info) {
            if (info.deviceType() != DeviceType.CPU) {
                throw new IllegalArgumentException(info + " is not memory of the CPU");
            }
            final long alignment = NativeEnvironment.CPU.byteAlignment();
            if (info.byteAlignment() < alignment) {
                throw new IllegalArgumentException(
                        info + " is aligned to " + info.byteAlignment() + " bytes; ONNX Runtime needs " + alignment);
            }
        }

        private static EpFactory find(@Nullable String name) {
            if (name == null) {
                throw new IllegalArgumentException("neither a provider nor an allocator was chosen");
            }
            final List<String> found = new ArrayList<>();
            for (final ServiceLoader.Provider<EpFactory> candidate :
                    ServiceLoader.load(EpFactory.class).stream().toList()) {
                final EpFactory provider = candidate.get();
                if (provider.name().equals(name)) {
                    return provider;
                }
                found.add(provider.name());
                provider.close();
            }
            throw new IllegalArgumentException("no provider is called " + name + "; there are " + found);
        }
    }
}
