package allocator.runtime;

import allocator.runtime.AllocatorReport.Source;
import allocator.runtime.SessionOptions.Wanted;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkReport;
import allocator.spi.UnsupportedMemoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The providers of one application and the allocators that they share: ONNX Runtime's environment. An application may
 * have several, which know nothing of one another.
 *
 * <p>Registering a provider makes a shared allocator for each default and each host-accessible memory of its devices
 * that has none yet. Settings for it come from {@link Builder#option}.
 *
 * <p>Operations that change something take one lock, also while they call a provider; allocating, freeing, looking an
 * allocator up and running a session take none of it.
 */
public final class Environment implements AutoCloseable {
    private static final List<DeviceType> PREFERENCE =
            List.of(DeviceType.GPU, DeviceType.NPU, DeviceType.CPU, DeviceType.FPGA);

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, String> settings;
    private final AllocatorInstances instances = new AllocatorInstances();
    private final SharedAllocators shared = new SharedAllocators(instances);
    private final Map<String, RegisteredProvider> providers = new LinkedHashMap<>();
    private final List<ProviderReport> failures = new ArrayList<>();
    private final Set<Session> sessions = ConcurrentHashMap.newKeySet();
    private final AtomicLong lastSession = new AtomicLong();
    private boolean isClosed;

    private Environment(Builder builder) {
        settings = Collections.unmodifiableMap(new TreeMap<>(builder.settings));
    }

    /**
     * Begins with the providers of the module path and the class path, and no settings.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * What became of every provider that was found or registered.
     *
     * @return registered providers, those with devices first, by name; then the failed ones
     */
    public List<ProviderReport> providers() {
        return locked(() -> {
            final List<ProviderReport> reports = new ArrayList<>();
            providers.values().forEach(provider -> reports.add(provider.report()));
            reports.sort(Comparator.comparing(
                            (ProviderReport report) -> report.devices().isEmpty())
                    .thenComparing(ProviderReport::name));
            reports.addAll(failures);
            return List.copyOf(reports);
        });
    }

    /**
     * The devices of all registered providers.
     *
     * @return GPUs first, then NPUs, CPUs and others; among equals by provider name and the provider's own order
     */
    public List<ProviderDevice> devices() {
        return locked(() -> providers.values().stream()
                .flatMap(provider ->
                        provider.devices().stream().map(device -> new ProviderDevice(provider.name(), device)))
                .sorted(Comparator.comparingInt((ProviderDevice device) -> PREFERENCE.indexOf(device.type()))
                        .thenComparing(ProviderDevice::provider))
                .toList());
    }

    /**
     * The keys that a registered provider understands, with defaults and accepted values.
     *
     * @param provider the provider's name
     * @return the keys; empty if there are none
     * @throws IllegalArgumentException if no provider of that name is registered
     */
    public List<OptionKey<?>> optionKeys(String provider) {
        return locked(() -> {
            final RegisteredProvider registered = providers.get(provider);
            if (registered == null) {
                throw new IllegalArgumentException(
                        "no provider " + provider + " is registered. Registered: " + providers.keySet());
            }
            return registered.keys();
        });
    }

    /**
     * Settings that no registered provider understands as its own.
     *
     * @return one line for each, with the provider name that is spelt most like it; empty if all settings are in force
     */
    public List<String> unusedSettings() {
        return locked(() -> settings.keySet().stream()
                .filter(key -> owner(key).isEmpty())
                .map(this::describeUnused)
                .toList());
    }

    private Optional<String> owner(String key) {
        return providers.keySet().stream()
                .filter(name -> key.startsWith(RegisteredProvider.environmentPrefix(name)))
                .findFirst();
    }

    private String describeUnused(String key) {
        final List<String> known = providers.values().stream()
                .flatMap(provider -> provider.keys().stream()
                        .map(other -> RegisteredProvider.environmentPrefix(provider.name()) + other.name()))
                .toList();
        return "no registered provider has it: "
                + InvalidOptionException.unknownKey(key, settings.getOrDefault(key, ""), Settings.ENVIRONMENT, known)
                        .getMessage();
    }

    /**
     * Registers a provider that the application made itself. From here on the environment owns it, and closes it when
     * it is unregistered or the environment is closed.
     *
     * @param factory the provider
     * @return what was registered
     * @throws ProviderException if the provider breaks the contract
     * @throws InvalidOptionException if a setting of this environment for this provider is not understood
     * @throws IllegalStateException if a provider of that name is registered already, or the environment is closed
     * @throws allocator.spi.AllocatorException what the provider threw while its shared allocators were made; in all
     *     these cases nothing is registered, and the factory stays with the caller
     */
    public ProviderReport register(EpFactory factory) {
        final ProviderCandidate candidate = ProviderCandidate.of(factory, ProviderCandidate.APPLICATION);
        return locked(() -> {
            requireOpen();
            return register(candidate);
        });
    }

    private ProviderReport register(ProviderCandidate candidate) {
        providers.values().forEach(present -> present.requireDistinctFrom(candidate));
        final RegisteredProvider provider = new RegisteredProvider(candidate, instances, settings);
        share(provider);
        providers.put(provider.name(), provider);
        Log.info("registered " + provider.name() + " with " + provider.devices().size() + " devices");
        return provider.report();
    }

    /** Makes the shared allocators of a provider, all or none. */
    private void share(RegisteredProvider provider) {
        final List<ManagedAllocator> created = new ArrayList<>();
        try {
            provider.devices().stream()
                    .flatMap(device -> device.memoryInfos().stream())
                    .filter(info -> !info.isReadOnly())
                    .forEach(info -> share(provider, info, created));
        } catch (RuntimeException e) {
            final Failures undone = new Failures();
            undone.add(e);
            shared.end(created, undone);
            throw e;
        }
    }

    private void share(RegisteredProvider provider, MemoryInfo info, List<ManagedAllocator> created) {
        final Optional<SharedAllocators.Owned> present = shared.owned(info.location());
        if (present.isPresent()) {
            provider.addNote("A shared allocator is already registered for " + info + ", that of "
                    + present.get().provider() + ": none is made");
            return;
        }
        created.add(shared.create(provider, info));
    }

    /**
     * Unregisters a provider: releases its shared allocators and closes it.
     *
     * @param provider the provider's name
     * @throws IllegalArgumentException if no provider of that name is registered
     * @throws StillInUseException if sessions, streams or memory depend on it; nothing changes then
     * @throws ProviderException if the provider refused to be closed; it stays registered then, with shared allocators
     *     made anew from the environment's settings
     */
    public void unregister(String provider) {
        locked(() -> {
            requireOpen();
            final RegisteredProvider registered = providers.get(provider);
            if (registered == null) {
                throw new IllegalArgumentException("Execution provider library: " + provider
                        + " was not registered. Registered: " + providers.keySet());
            }
            unregister(registered);
            return null;
        });
    }

    private void unregister(RegisteredProvider provider) {
        settle();
        final Predicate<ManagedAllocator> isOurs =
                allocator -> allocator.reference().provider().equals(provider.name());
        final List<ManagedAllocator> ending = endable(
                isOurs,
                session -> session.uses(provider.name()),
                "provider " + provider.name() + " cannot be unregistered");
        final Failures failed = new Failures();
        shared.end(ending, failed);
        try {
            provider.close();
        } catch (RuntimeException e) {
            failed.add(e);
            restore(provider, failed);
            failed.throwIfAny();
        }
        providers.remove(provider.name());
        Log.info("unregistered " + provider.name());
        failed.throwIfAny();
    }

    /** Shares a provider's allocators again after it refused to be closed, or else drops it. */
    private void restore(RegisteredProvider provider, Failures failed) {
        try {
            share(provider);
        } catch (RuntimeException e) {
            failed.add(e);
            providers.remove(provider.name());
        }
    }

    /** The environment's allocators of some kind, if nobody uses them; they allocate no more then. */
    private List<ManagedAllocator> endable(
            Predicate<ManagedAllocator> which, Predicate<Session> dependent, String refused) {
        final List<ManagedAllocator> ending =
                shared.unreleased().stream().filter(which).toList();
        ending.forEach(ManagedAllocator::refuseAllocations);
        final List<String> users = new ArrayList<>();
        sessions.stream().filter(dependent).map(Session::describe).sorted().forEach(users::add);
        users.addAll(shared.liveBlocks(which));
        if (!users.isEmpty()) {
            ending.forEach(ManagedAllocator::acceptAllocations);
            throw new StillInUseException(refused, users);
        }
        return ending;
    }

    private void settle() {
        sessions.forEach(Session::settle);
        shared.settle();
    }

    /**
     * The shared allocator of a memory: the one that the application registered, or else a provider's.
     *
     * @param location where the memory is
     * @return the allocator, or empty if there is none
     */
    public Optional<ManagedAllocator> sharedAllocator(MemoryLocation location) {
        return shared.find(Objects.requireNonNull(location, "location"));
    }

    /**
     * The shared allocator of a memory.
     *
     * @param memory the memory; only its location matters
     * @return as {@link #sharedAllocator(MemoryLocation)}
     */
    public Optional<ManagedAllocator> sharedAllocator(MemoryInfo memory) {
        return sharedAllocator(memory.location());
    }

    /**
     * All shared allocators.
     *
     * @return one for each memory that has one
     */
    public List<ManagedAllocator> sharedAllocators() {
        return shared.all();
    }

    /**
     * Makes a shared allocator with settings of its own and puts it in place of the one that was there, whoever made
     * that.
     *
     * <p>The new allocator is made and checked first, as an instance of its own where the provider has shared ones;
     * only then is the old one let go. Whoever allocated from the old one frees as before; the last free releases it.
     * If this method throws, the old one is in place and works.
     *
     * @param device the device
     * @param memory one of the device's memories, not the read-only one
     * @param options settings, stronger than the environment's
     * @return the new allocator
     * @throws IllegalArgumentException if the device is not one of {@link #devices}, or {@code memory} is read-only
     * @throws UnsupportedMemoryException if the device does not have {@code memory}
     * @throws InvalidOptionException if a setting is not understood
     * @throws ProviderException if the provider breaks the contract
     * @throws IllegalStateException if the application registered an allocator there, or the environment is closed
     */
    public ManagedAllocator createSharedAllocator(ProviderDevice device, MemoryInfo memory, AllocatorOptions options) {
        return locked(() -> {
            requireOpen();
            final RegisteredProvider provider = provider(device);
            if (!device.device().memoryInfos().contains(memory)) {
                throw new UnsupportedMemoryException(device + " has no " + memory + ", it has "
                        + device.device().memoryInfos());
            }
            if (memory.isReadOnly()) {
                throw new IllegalArgumentException(memory + " is read-only, and read-only memory is never shared");
            }
            options.requireValid(provider.keys());
            return shared.replace(provider, memory, options);
        });
    }

    private RegisteredProvider provider(ProviderDevice device) {
        final RegisteredProvider provider = providers.get(device.provider());
        if (provider == null || !provider.devices().contains(device.device())) {
            throw new IllegalArgumentException(device + " is not a device of this environment");
        }
        return provider;
    }

    /**
     * Takes a provider's shared allocator away. Live blocks of it can still be freed; the last one releases it.
     * Sessions that use it keep it.
     *
     * @param location where its memory is
     * @throws IllegalStateException if there is none
     */
    public void releaseSharedAllocator(MemoryLocation location) {
        locked(() -> {
            shared.release(location);
            return null;
        });
    }

    /**
     * Shares an allocator of the application's own, in place of any other at its location until it is unregistered. The
     * application keeps it and destroys it after that. If it is a {@link allocator.spi.ShrinkableAllocator} of level 25
     * it is an arena like any other.
     *
     * @param allocator the allocator
     * @return what {@link #sharedAllocator(MemoryLocation)} answers from here on
     * @throws IllegalArgumentException if its type is the reserved {@link allocator.spi.AllocatorType#ARENA}, or
     *     read-only
     * @throws StillInUseException if sessions or memory depend on an allocator that was registered before there
     * @throws IllegalStateException if the environment is closed
     */
    public ManagedAllocator registerAllocator(Allocator allocator) {
        return locked(() -> {
            requireOpen();
            settle();
            return shared.register(allocator);
        });
    }

    /**
     * Takes an allocator of the application out. The provider's allocator, if there is one, is found again.
     *
     * @param location where its memory is
     * @throws IllegalStateException if the application registered none there
     * @throws StillInUseException if sessions or memory depend on it; nothing changes then
     */
    public void unregisterAllocator(MemoryLocation location) {
        locked(() -> {
            settle();
            shared.unregister(location);
            return null;
        });
    }

    /**
     * Returns unused memory of a shared arena to its device, at any time.
     *
     * @param location where the memory is
     * @return what went back and what stays
     * @throws UnsupportedMemoryException if there is no shared arena there
     * @throws allocator.spi.DeviceException if the driver fails
     */
    public ShrinkReport shrink(MemoryLocation location) {
        while (true) {
            final ManagedArena arena = Session.arena(sharedAllocator(location), location, AllocatorReport.ENVIRONMENT);
            try {
                return arena.shrink();
            } catch (AllocatorClosedException e) {
                if (sharedAllocator(location).filter(arena.allocator()::equals).isPresent()) {
                    throw e;
                }
                // It was replaced meanwhile; its successor is meant.
            }
        }
    }

    /**
     * Opens a session.
     *
     * @param options its devices and settings
     * @return the session, which the caller closes
     * @throws InvalidOptionException if a setting is not understood
     * @throws IllegalArgumentException if a device was asked for that is not there
     * @throws IllegalStateException if there is no device at all, or the environment is closed
     * @throws ProviderException if a provider breaks the contract
     * @throws allocator.spi.AllocatorException what a provider threw while the allocators were made; nothing is left
     *     behind
     */
    public Session openSession(SessionOptions options) {
        final List<Session.Part> parts = new ArrayList<>();
        final Map<MemoryLocation, StreamPool> pools = new LinkedHashMap<>();
        final List<String> notes = new ArrayList<>();
        final Session session = locked(() -> {
            requireOpen();
            return plan(options, parts, pools, notes);
        });
        try {
            session.open(parts, pools, notes, options.decorator());
        } catch (RuntimeException e) {
            sessions.remove(session);
            throw e;
        }
        try {
            warnAboutSettings(session);
        } catch (RuntimeException e) {
            final Failures failed = new Failures();
            failed.onUndo(session::close);
            throw failed.undo(e);
        }
        return session;
    }

    private Session plan(
            SessionOptions options,
            List<Session.Part> parts,
            Map<MemoryLocation, StreamPool> pools,
            List<String> notes) {
        final List<ProviderDevice> devices = choose(options.wanted());
        final Map<String, AllocatorOptions> own = ownSettings(options);
        final boolean usesEnvironment = options.isSet(SessionOptions.USE_ENV_ALLOCATORS);
        final Set<String> used =
                devices.stream().map(ProviderDevice::provider).collect(Collectors.toCollection(TreeSet::new));
        own.forEach((provider, given) -> {
            if (!given.isEmpty() && !used.contains(provider)) {
                notes.add("not in force, since the session has no device of " + provider + ": " + given);
            }
        });
        final Set<MemoryLocation> planned = new LinkedHashSet<>();
        final Set<MemoryLocation> plannedReadOnly = new LinkedHashSet<>();
        for (final ProviderDevice device : devices) {
            final RegisteredProvider provider = provider(device);
            for (final MemoryInfo memory : device.device().memoryInfos()) {
                if ((memory.isReadOnly() ? plannedReadOnly : planned).add(memory.location())) {
                    parts.add(part(
                            provider,
                            memory,
                            own.getOrDefault(provider.name(), AllocatorOptions.EMPTY),
                            usesEnvironment));
                }
            }
            device.device()
                    .defaultMemory()
                    .ifPresent(memory -> pools.putIfAbsent(memory.location(), new StreamPool(provider, memory)));
        }
        if (usesEnvironment) {
            shared.all().stream()
                    .filter(allocator -> planned.add(allocator.info().location()))
                    .forEach(allocator -> parts.add(existing(allocator, AllocatorOptions.EMPTY)));
        }
        used.addAll(parts.stream().map(Session.Part::providerName).toList());
        final Session session = new Session(
                this,
                options.name().isEmpty() ? "session-" + lastSession.incrementAndGet() : options.name(),
                devices,
                used,
                options.isSet(SessionOptions.USE_DEVICE_ALLOCATOR_FOR_INITIALIZERS));
        sessions.add(session);
        return session;
    }

    /** How a session comes to one of its allocators. */
    private Session.Part part(
            RegisteredProvider provider, MemoryInfo memory, AllocatorOptions own, boolean usesEnvironment) {
        final AllocatorOptions wanted = provider.options().overriddenBy(own);
        if (memory.isReadOnly()) {
            return new Session.Part(provider, memory, Source.CREATED, wanted, null);
        }
        if (usesEnvironment && shared.find(memory.location()).isPresent()) {
            return existing(shared.find(memory.location()).orElseThrow(), own);
        }
        if (!own.isEmpty()) {
            final AllocatorOptions exclusive = provider.exclusive(wanted);
            return new Session.Part(
                    provider,
                    memory,
                    provider.isExclusive(exclusive) ? Source.EXCLUSIVE : Source.CREATED,
                    exclusive,
                    null);
        }
        return shared.owned(memory.location())
                .filter(owned -> owned.isExplicit()
                        && owned.provider().equals(provider.name())
                        && owned.info().equals(memory))
                .map(owned -> existing(owned.allocator(), own))
                .orElseGet(() -> new Session.Part(provider, memory, Source.CREATED, wanted, null));
    }

    private static Session.Part existing(ManagedAllocator allocator, AllocatorOptions own) {
        return new Session.Part(
                null,
                allocator.info(),
                allocator.source() == Source.REGISTERED ? Source.REGISTERED : Source.ENVIRONMENT,
                allocator.requested().overriddenBy(own),
                allocator.reference().retain());
    }

    private List<ProviderDevice> choose(List<Wanted> wanted) {
        final List<ProviderDevice> available = devices();
        if (wanted.isEmpty()) {
            return List.of(available.stream()
                    .filter(device -> !device.device().memoryInfos().isEmpty())
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("no device was found: " + describeProviders())));
        }
        final Set<ProviderDevice> chosen = new LinkedHashSet<>();
        for (final Wanted one : wanted) {
            chosen.add(available.stream()
                    .filter(one::matches)
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException(
                            "no device " + one + "; there are: " + available + ". " + describeProviders())));
        }
        return List.copyOf(chosen);
    }

    private String describeProviders() {
        final List<ProviderReport> reports = providers();
        return reports.isEmpty()
                ? "no provider was found"
                : reports.stream()
                        .map(report -> report.name() + ": "
                                + report.failure().orElseGet(() -> String.join(", ", report.notes())))
                        .collect(Collectors.joining("; "));
    }

    /** The session's own settings by provider. */
    private Map<String, AllocatorOptions> ownSettings(SessionOptions options) {
        final Map<String, AllocatorOptions> own = new LinkedHashMap<>();
        final Set<String> unclaimed = new TreeSet<>(options.settings().keySet());
        unclaimed.removeIf(key -> !key.startsWith("ep."));
        final List<String> known = new ArrayList<>();
        for (final RegisteredProvider provider : providers.values()) {
            final String prefix = RegisteredProvider.sessionPrefix(provider.name());
            own.put(provider.name(), Settings.select(options.settings(), prefix, provider.keys(), Settings.SESSION));
            unclaimed.removeIf(key -> key.startsWith(prefix));
            provider.keys().forEach(key -> known.add(prefix + key.name()));
        }
        for (final String key : unclaimed) {
            throw InvalidOptionException.unknownKey(
                    key, options.settings().getOrDefault(key, ""), Settings.SESSION, known);
        }
        return own;
    }

    private static void warnAboutSettings(Session session) {
        final SessionReport report = session.report();
        report.notes().forEach(note -> Log.warning(session + ": " + note));
        for (final AllocatorReport allocator : report.allocators()) {
            Log.debug(session + ": " + allocator);
            // Settings speak of arenas; that they pass read-only memory by is as it should be. Where a provider tells
            // no settings there is nothing shared to be kept apart from.
            allocator.settings().stream()
                    .filter(setting -> !setting.isInForce() && setting.origin().equals(Settings.SESSION))
                    .filter(setting -> setting.effective() != null
                            || !(allocator.memory().isReadOnly()
                                    || setting.key().equals(OptionKey.EXCLUSIVE.name())))
                    .forEach(setting -> Log.warning(session + ": " + setting.key() + "=" + setting.requested()
                            + " is not in force on " + allocator.memory() + ": " + setting.why()));
        }
    }

    /** Forgets a session whose last allocator is released. */
    void forget(Session session) {
        sessions.remove(session);
    }

    /**
     * Releases the shared allocators and closes the providers. A second call does nothing.
     *
     * @throws StillInUseException if sessions are open or memory is live; it lists them, and nothing changes
     * @throws allocator.spi.AllocatorException if a provider failed to release or to close; the environment is closed
     *     all the same
     */
    @Override
    public void close() {
        locked(() -> {
            if (!isClosed) {
                settle();
                final List<ManagedAllocator> ending =
                        endable(allocator -> true, session -> true, "the environment cannot be closed");
                isClosed = true;
                final Failures failed = new Failures();
                shared.end(ending, failed);
                closeAll(providers.values(), failed);
                providers.clear();
                failed.throwIfAny();
            }
            return null;
        });
    }

    private static void closeAll(Collection<RegisteredProvider> closing, Failures failed) {
        new ArrayList<>(closing).reversed().forEach(provider -> failed.attempt(provider::close));
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("the environment is closed");
        }
    }

    private <T extends @Nullable Object> T locked(Supplier<T> operation) {
        lock.lock();
        try {
            return operation.get();
        } finally {
            lock.unlock();
        }
    }

    /** Collects where providers come from and their settings. Not for use by several threads. */
    public static final class Builder {
        private final Map<String, String> settings = new TreeMap<>();
        private final ProviderSearch search = new ProviderSearch();

        private Builder() {}

        /**
         * Sets an option of a provider: {@code ep_factory.<provider name>.<key of the provider>}, the name in its exact
         * case, such as {@code ep_factory.CudaArena.arena.max_mem}. It applies to the provider's shared allocators and,
         * where a session says nothing else, to those of sessions.
         *
         * @param key the key
         * @param value its value, checked when the provider is registered
         * @return this builder
         * @throws InvalidOptionException if the key is not of that form
         */
        public Builder option(String key, String value) {
            if (!key.startsWith("ep_factory.")) {
                throw OptionPlaces.unknown(
                        key, value, Settings.ENVIRONMENT, List.of("ep_factory.<provider name>.<key>"));
            }
            settings.put(key, Objects.requireNonNull(value, "value"));
            return this;
        }

        /**
         * Whether providers of the module path, and of the class path, are searched for.
         *
         * @param value {@code true} unless set
         * @return this builder
         */
        public Builder modulePathProviders(boolean value) {
            search.setSearchingModulePath(value);
            return this;
        }

        /**
         * Searches a directory of jars, which gets a module layer of its own: what is in it sees the modules of the
         * application, but not those of another directory. May be called several times. Where this project's jars are
         * on the class path there is no module for those to see; nothing is found then, and
         * {@link Environment#providers} says why.
         *
         * @param directory a directory
         * @return this builder
         */
        public Builder providersFrom(Path directory) {
            search.addDirectory(directory);
            return this;
        }

        /**
         * Names the only providers that may load. Classes of others are not initialized. Without this call all may.
         *
         * @param modulesOrClasses names of modules, or of factory classes, as those of the class path have no module
         * @return this builder
         */
        public Builder allowModules(String... modulesOrClasses) {
            search.allow(List.of(modulesOrClasses));
            return this;
        }

        /**
         * Leaves providers out, for instance one of two that have the same name.
         *
         * @param modulesOrClasses names of modules, or of factory classes
         * @return this builder
         */
        public Builder exclude(String... modulesOrClasses) {
            search.exclude(List.of(modulesOrClasses));
            return this;
        }

        /**
         * Finds and registers the providers. One that is broken is reported by {@link Environment#providers} and
         * disturbs nobody else.
         *
         * @return the environment, which the caller closes
         * @throws InvalidOptionException if a setting is not understood by the provider it is for
         */
        public Environment build() {
            return build(search.find());
        }

        private Environment build(ProviderSearch.Found found) {
            final Environment environment = new Environment(this);
            environment.failures.addAll(found.failures());
            try {
                found.candidates().forEach(environment::registerFound);
            } catch (RuntimeException e) {
                environment.abandon(found.candidates(), e);
                throw e;
            }
            environment.failures.forEach(report -> Log.warning("provider " + report.name() + " is not used: "
                    + report.failure().orElse("")));
            environment.unusedSettings().forEach(Log::warning);
            return environment;
        }
    }

    private void registerFound(ProviderCandidate candidate) {
        try {
            locked(() -> register(candidate));
        } catch (InvalidOptionException e) {
            if (settings.keySet().stream()
                    .anyMatch(key -> key.startsWith(RegisteredProvider.environmentPrefix(candidate.name())))) {
                throw e;
            }
            fail(candidate, e);
        } catch (RuntimeException e) {
            fail(candidate, e);
        }
    }

    private void fail(ProviderCandidate candidate, RuntimeException e) {
        final Failures closing = new Failures();
        closing.add(e);
        closing.attempt(() -> ProviderCalls.run(candidate.name(), "close", candidate.factory()::close));
        Log.warning("registration of " + candidate.name() + " failed", e);
        failures.add(ProviderReport.failed(
                candidate.name(),
                candidate.module(),
                candidate.origin(),
                Objects.requireNonNullElse(e.getMessage(), e.toString())));
    }

    /** Closes what was registered, and the factories that were not, after a failure that ends the building. */
    private void abandon(List<ProviderCandidate> candidates, RuntimeException cause) {
        final Failures closing = new Failures();
        closing.add(cause);
        final Set<String> registered = Set.copyOf(providers.keySet());
        closing.attempt(this::close);
        candidates.stream()
                .filter(candidate -> !registered.contains(candidate.name()))
                .forEach(candidate -> closing.attempt(
                        () -> ProviderCalls.run(candidate.name(), "close", candidate.factory()::close)));
    }
}
