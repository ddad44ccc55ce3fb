package allocator.runtime;

import allocator.provider.support.budget.BudgetPressure;
import allocator.provider.support.event.AllocatorEvents;
import allocator.provider.support.internal.Failures;
import allocator.runtime.RegisteredProvider.Candidate;
import allocator.runtime.SessionPlanner.Plan;
import allocator.runtime.discovery.LoadedFactory;
import allocator.runtime.discovery.Log;
import allocator.runtime.discovery.ProviderSearch;
import allocator.runtime.discovery.SearchResult;
import allocator.runtime.inspection.AllocatorUse;
import allocator.runtime.inspection.FailureSnapshots;
import allocator.runtime.inspection.Inspection;
import allocator.runtime.inspection.InspectionOptions;
import allocator.runtime.inspection.LeakReports;
import allocator.runtime.inspection.RecentEvents;
import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.metrics.AllocatorListener;
import allocator.runtime.metrics.Observation;
import allocator.runtime.options.OptionPlace;
import allocator.runtime.options.ProviderOrder;
import allocator.runtime.snapshot.Snapshot;
import allocator.runtime.snapshot.Snapshot.Failure;
import allocator.runtime.snapshot.Snapshot.Leaks;
import allocator.spi.Allocator;
import allocator.spi.AllocatorClosedException;
import allocator.spi.AllocatorOptions;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkReport;
import allocator.spi.UnsupportedMemoryException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The providers of an application and their shared allocators: ONNX Runtime's environment. An application may have
 * several environments, which are independent.
 *
 * <p>Registering a provider creates a shared allocator for each default and each host-accessible memory of its devices
 * that has none yet. Its settings come from {@link EnvironmentBuilder#option}.
 *
 * <p>Operations that change the environment take one lock, and hold it while they call a provider. Allocating, freeing,
 * looking up an allocator and running a session do not take it. A provider that is called meanwhile may call back on
 * the same thread. It may open sessions, but not on a provider that is being registered, unregistered or closed.
 * Registering, creating, releasing, unregistering and closing throw {@link IllegalStateException} then.
 */
public final class Environment implements AutoCloseable {
    /** How many sessions a {@link StillInUseException} describes: describing one looks at all. */
    private static final int MOST_DESCRIBED = 20;

    private final Object lock = new Object();
    private final ProviderSearch lists;
    private final AllocatorInstances instances = new AllocatorInstances();
    private final SharedAllocators shared;
    private final ProviderRegistry registry;
    private final SessionPlanner planner;
    private final OpenSessions sessions = new OpenSessions();
    private final Inspection inspection;
    private final LeakReports leakReports;
    private final AtomicLong lastSession = new AtomicLong();

    /** What others may shrink, as long as this environment is open and not forgotten. */
    private final BudgetPressure.Holder holder =
            () -> allocators().stream().map(ManagedAllocator::partOfDevice).toList();

    private boolean isClosed;

    /** Whether an operation that changes the environment is under way. */
    private boolean isChanging;

    /**
     * Creates an environment without providers.
     *
     * @param lists the lists of what may load
     * @param settings those of providers by key
     */
    Environment(ProviderSearch lists, ProviderOrder order, InspectionOptions options, Map<String, String> settings) {
        AllocatorEvents.prepare();
        this.lists = lists.withSameLists();
        inspection = new Inspection(options, failure -> snapshotAfter(failure, null), this::uses);
        leakReports = options.leakReports();
        shared = new SharedAllocators(instances, inspection.snapshots(), leakReports);
        registry = new ProviderRegistry(order, Collections.unmodifiableMap(new TreeMap<>(settings)), instances, shared);
        planner = new SessionPlanner(registry, shared);
        inspection.begin();
    }

    /** {@return a builder that searches the module path and the class path, without settings} */
    public static EnvironmentBuilder builder() {
        return new EnvironmentBuilder();
    }

    /** {@return a new environment with providers of module and class path, without settings; the caller closes it} */
    public static Environment create() {
        return builder().build();
    }

    /**
     * {@return the reports of the providers found or registered, and why any others were not loaded: registered
     * providers, those with devices first, in the order of {@link EnvironmentBuilder#PROVIDER_ORDER}; then those that
     * failed}
     */
    public List<ProviderReport> providers() {
        return locked(registry::reports);
    }

    /**
     * {@return the devices of all registered providers: GPUs first, then NPUs, CPUs and others; devices of one kind in
     * the order of their providers, see {@link EnvironmentBuilder#PROVIDER_ORDER}, and of one provider in its own}
     */
    public List<ProviderDevice> devices() {
        return locked(registry::devices);
    }

    /**
     * {@return the keys that a registered provider understands, with defaults and accepted values; empty if there are
     * none}
     *
     * @param provider the provider's name
     * @throws IllegalArgumentException if no provider of that name is registered
     */
    public List<OptionKey<?>> optionKeys(String provider) {
        return locked(() -> registry.find(provider)
                .orElseThrow(() -> new IllegalArgumentException(
                        "no provider " + provider + " is registered. Registered: " + registry.names()))
                .keys());
    }

    /**
     * {@return what the environment's allocators and those of its sessions hold, chunk by chunk: devices, sessions and
     * allocators} May be called at any time; other calls wait for it as
     * {@link allocator.spi.InspectableAllocator#inspect} says.
     */
    public Snapshot snapshot() {
        return snapshot(AllocatorReport.ENVIRONMENT, null, null, devices(), sessions.all(), use -> true);
    }

    /** Describes a session, and its allocators with all their users. */
    Snapshot snapshot(Session session) {
        return snapshot(session, null);
    }

    private Snapshot snapshot(Session session, @Nullable Leaks leaks) {
        final Set<Object> used = session.uses().map(AllocatorUse::instance).collect(Collectors.toSet());
        return snapshot(
                session.name(), null, leaks, session.devices(), List.of(session), use -> used.contains(use.instance()));
    }

    /** Describes everything after a request or a close has failed. Takes no lock of this environment. */
    private Snapshot snapshotAfter(@Nullable Failure failure, @Nullable Leaks leaks) {
        final List<Session> open = sessions.all();
        final List<ProviderDevice> devices = open.stream()
                .flatMap(session -> session.devices().stream())
                .distinct()
                .toList();
        return snapshot(AllocatorReport.ENVIRONMENT, failure, leaks, devices, open, use -> true);
    }

    private Snapshot snapshot(
            String scope,
            @Nullable Failure failure,
            @Nullable Leaks leaks,
            List<ProviderDevice> devices,
            List<Session> described,
            Predicate<AllocatorUse> which) {
        return new Snapshot(
                Instant.now(),
                scope,
                failure,
                leaks,
                devices.stream().map(ProviderDevice::describe).toList(),
                described.stream().map(Session::describeState).toList(),
                AllocatorUse.describe(uses().filter(which)),
                RecentEvents.list());
    }

    private Stream<AllocatorUse> uses() {
        return Stream.concat(
                shared.unreleased().stream().map(ManagedAllocator::use),
                sessions.all().stream().flatMap(Session::uses));
    }

    /**
     * Reports each instance of an allocator while it is in use, by this environment or its sessions. Without an
     * observation nothing is collected.
     *
     * @param listener what is called, at once for each instance that is in use
     * @return the observation, which ends with this environment at the latest
     * @throws IllegalStateException if the environment is closed
     */
    public Observation observe(AllocatorListener listener) {
        return inspection.observers().add(Objects.requireNonNull(listener, "listener"));
    }

    /** Reports the blocks of a session that are live after its end, if that is asked for. Throws nothing. */
    void reportLeaks(Session session) {
        reportLeaks("session " + session, session::usesWithLiveBlocks, leaks -> snapshot(session, leaks));
    }

    private void reportLeaks(String closed, Supplier<List<AllocatorUse>> uses, Function<Leaks, Snapshot> taker) {
        if (leakReports.interval() > 0) {
            try {
                leakReports.report(closed, uses.get(), taker);
            } catch (Throwable e) {
                Log.failed("reporting the live blocks", closed, e);
            }
        }
    }

    private List<AllocatorUse> usesWithLiveBlocks() {
        return Stream.concat(
                        shared.unreleased().stream()
                                .filter(ManagedAllocator::hasLiveBlocks)
                                .map(ManagedAllocator::use),
                        sessions.all().stream().flatMap(session -> session.usesWithLiveBlocks().stream()))
                .toList();
    }

    /** Returns what requests of this environment that fail for lack of memory are reported to. */
    FailureSnapshots failureSnapshots() {
        return inspection.snapshots();
    }

    /**
     * Describes the settings that no registered provider understands as its own. The first session, or else the close,
     * logs a WARNING for each of which no provider was ever registered.
     *
     * @return one line for each, with the closest known key; empty if all settings apply to a provider
     */
    public List<String> unusedSettings() {
        return locked(registry::unusedSettings);
    }

    /**
     * Registers a provider that the application constructed. The environment then owns it, and closes it when it is
     * unregistered or the environment is closed.
     *
     * @param factory the provider
     * @return what was registered
     * @throws ProviderException if the provider breaks the contract
     * @throws InvalidOptionException if a setting of this environment for this provider is not understood
     * @throws IllegalStateException if a provider of that name is registered, or the environment is closed
     * @throws allocator.spi.AllocatorException if the provider threw it while its shared allocators were created. If
     *     this method throws, nothing is registered, and the caller still owns the factory
     */
    public ProviderReport register(EpFactory factory) {
        final Candidate candidate = Candidate.of(LoadedFactory.ofApplication(factory));
        return changed(() -> {
            requireOpen();
            return registry.register(List.of(candidate)).getFirst();
        });
    }

    /**
     * Registers the providers of a jar, or of a directory of jars, while this environment lives: ONNX Runtime's
     * {@code RegisterExecutionProviderLibrary}. They are found as {@link EnvironmentBuilder#providersFrom} says, in a
     * module layer of their own, and the lists of {@link EnvironmentBuilder#allowModules} and
     * {@link EnvironmentBuilder#exclude} apply: what they keep out is not registered, and logged. All others are
     * registered, or none.
     *
     * <p>Each is unregistered by its name, with {@link #unregister}. After the last one, the environment holds nothing
     * of the layer, so that its classes are unloaded once the application and the providers let go of them. The same
     * path may then be registered again, also with other content.
     *
     * @param jarOrDirectory the path
     * @return what was registered, at least one provider, in the order of {@link EnvironmentBuilder#PROVIDER_ORDER}
     * @throws IllegalArgumentException if the path does not exist, a jar is damaged or holds a provider that cannot be
     *     loaded, or no provider is left to register; the message names each and says why
     * @throws ProviderException if a provider breaks the contract
     * @throws InvalidOptionException if a setting of this environment for one of the providers is not understood
     * @throws IllegalStateException if a provider of such a name is registered, as those of a path that is registered
     *     are, or the environment is closed
     * @throws allocator.spi.AllocatorException if a provider threw it while its shared allocators were created. If this
     *     method throws, nothing is registered, and every provider that was constructed is closed; a close that fails
     *     is logged, and tried again when the environment is closed
     */
    public List<ProviderReport> registerFrom(Path jarOrDirectory) {
        final ProviderSearch search = lists.withSameLists();
        search.addDirectory(jarOrDirectory);
        return changed(() -> {
            requireOpen();
            return registry.registerFrom(jarOrDirectory, search.find());
        });
    }

    void registerFound(SearchResult found) {
        changed(() -> {
            registry.registerFound(found);
            return null;
        });
    }

    /**
     * Unregisters a provider: releases its shared allocators and closes it. Allocations from them wait until it is
     * known whether that may be done. From then on the provider counts as not registered, also for its own call-backs.
     * A call of another thread that needs the provider waits for the outcome.
     *
     * @param provider the provider's name
     * @throws IllegalArgumentException if no provider of that name is registered
     * @throws IllegalStateException if the environment is closed
     * @throws StillInUseException if sessions, streams or memory depend on it; nothing changes
     * @throws ProviderException if the provider failed to close; it stays registered, with new shared allocators
     *     created from the environment's settings if it can create them
     */
    public void unregister(String provider) {
        changed(() -> {
            requireOpen();
            unregister(registry.find(provider)
                    .orElseThrow(() -> new IllegalArgumentException("Execution provider library: " + provider
                            + " was not registered. Registered: " + registry.names())));
            return null;
        });
    }

    private void unregister(RegisteredProvider provider) {
        final Failures failures = new Failures();
        settle();
        final List<ManagedAllocator> ending = end(
                allocator -> allocator.reference().provider().equals(provider.name()),
                session -> session.uses(provider.name()),
                "provider " + provider.name() + " cannot be unregistered");
        final String unregistered = "unregistered " + provider.name();
        final Runnable release = () -> {
            SharedAllocators.close(ending, failures);
            instances.returnAgain(provider.name()::equals, failures);
        };
        if (registry.close(provider, release, failures)) {
            Log.debug(unregistered);
        } else {
            failures.run(() -> shared.share(List.of(provider)));
        }
        failures.throwIfAny();
    }

    /**
     * Ends allocators of the environment: removes them from their slots, and rejects further allocations.
     *
     * @return the allocators, which the caller closes
     * @throws StillInUseException if a session or a block depends on them. If this method throws anything, the
     *     allocators accept allocations again and nothing has changed
     */
    private List<ManagedAllocator> end(Predicate<ManagedAllocator> which, Predicate<Session> dependent, String what) {
        final List<ManagedAllocator> ending =
                shared.unreleased().stream().filter(which).toList();
        boolean isEnded = false;
        try {
            ending.forEach(allocator -> allocator.lease().pauseAllocations());
            if (sessions.all().stream().noneMatch(dependent) && !shared.haveLiveBlocks(which)) {
                shared.remove(ending);
                for (int i = 0; i < ending.size(); i++) { // without Java heap, so that it cannot fail
                    ending.get(i).lease().rejectAllocations();
                }
                isEnded = true;
            }
        } finally {
            for (int i = 0; i < ending.size(); i++) {
                ending.get(i).lease().resumeAllocations();
            }
        }
        if (!isEnded) {
            throw new StillInUseException(what, describeUsers(which, dependent));
        }
        return ending;
    }

    private List<String> describeUsers(Predicate<ManagedAllocator> which, Predicate<Session> dependent) {
        final List<Session> using = sessions.all().stream().filter(dependent).toList();
        final List<String> users = new ArrayList<>();
        using.stream().limit(MOST_DESCRIBED).map(Session::describe).sorted().forEach(users::add);
        if (using.size() > MOST_DESCRIBED) {
            users.add((using.size() - MOST_DESCRIBED) + " other sessions");
        }
        users.addAll(shared.liveBlocks(which));
        return users;
    }

    /** Does what earlier calls have missed, and what blocks freed through other owners allow. Failures are logged. */
    private void settle() {
        final Failures failures = new Failures();
        sessions.all().forEach(session -> session.settle(failures));
        shared.settle(failures);
        try {
            failures.throwIfAny();
        } catch (Throwable e) {
            Log.failed("release", "what was closed before", e);
        }
    }

    /**
     * {@return the shared allocator of a memory: the one that the application registered, otherwise a provider's; empty
     * if there is none}
     *
     * @param location the memory's location
     */
    public Optional<ManagedAllocator> sharedAllocator(MemoryLocation location) {
        return shared.find(Objects.requireNonNull(location, "location"));
    }

    /**
     * {@return the shared allocator of a memory, as {@link #sharedAllocator(MemoryLocation)}}
     *
     * @param memory the memory; only its location matters
     */
    public Optional<ManagedAllocator> sharedAllocator(MemoryInfo memory) {
        return sharedAllocator(memory.location());
    }

    /** {@return all shared allocators, one for each memory that has one} */
    public List<ManagedAllocator> sharedAllocators() {
        return shared.all();
    }

    /**
     * Creates a shared allocator with settings of its own. It replaces the shared allocator of that memory, of any
     * provider.
     *
     * <p>The new allocator is created and checked first, as an exclusive instance if the provider shares instances;
     * only then is the old one retired. Blocks of the old one can still be freed; the last free releases it. If this
     * method throws, the old one stays in place.
     *
     * @param device the device
     * @param memory one of the device's memories, not a read-only one
     * @param options settings, which override the environment's
     * @return the new allocator
     * @throws IllegalArgumentException if the device is not one of {@link #devices}, or {@code memory} is read-only
     * @throws UnsupportedMemoryException if the device does not have {@code memory}
     * @throws InvalidOptionException if a setting is not understood
     * @throws ProviderException if the provider breaks the contract
     * @throws IllegalStateException if the application registered an allocator there, or the environment is closed
     */
    public ManagedAllocator createSharedAllocator(ProviderDevice device, MemoryInfo memory, AllocatorOptions options) {
        return changed(() -> {
            requireOpen();
            final RegisteredProvider provider = registry.provider(device);
            return shared.replace(provider, device, memory, options);
        });
    }

    /**
     * Removes a provider's shared allocator. Its live blocks can still be freed; the last free releases it. Sessions
     * that use it still do.
     *
     * @param location the memory's location
     * @throws IllegalStateException if there is none
     */
    public void releaseSharedAllocator(MemoryLocation location) {
        changed(() -> {
            shared.release(location);
            return null;
        });
    }

    /**
     * Shares an allocator of the application. Until it is unregistered it replaces any other at its location. The
     * application owns it, and destroys it after unregistering it. A {@link allocator.spi.ShrinkableAllocator} of level
     * 25 is an arena like any other.
     *
     * @param allocator the allocator
     * @return what {@link #sharedAllocator(MemoryLocation)} returns from here on
     * @throws IllegalArgumentException if its type is the reserved {@link allocator.spi.AllocatorType#ARENA}, or
     *     read-only
     * @throws StillInUseException if sessions or blocks depend on an allocator that the application registered there
     *     before
     * @throws IllegalStateException if the environment is closed
     */
    public ManagedAllocator registerAllocator(Allocator allocator) {
        return changed(() -> {
            requireOpen();
            settle();
            return shared.register(allocator);
        });
    }

    /**
     * Unregisters an allocator of the application. The provider's allocator, if there is one, takes its place.
     *
     * @param location the memory's location
     * @throws IllegalStateException if the application registered none there
     * @throws StillInUseException if sessions or blocks depend on it, or a call of it for statistics, options or a
     *     shrink goes on for two seconds; nothing changes
     */
    public void unregisterAllocator(MemoryLocation location) {
        changed(() -> {
            settle();
            shared.unregister(location);
            return null;
        });
    }

    /**
     * Returns unused memory of a shared arena to its device. May be called at any time.
     *
     * @param location the memory's location
     * @return what was released and what is still held
     * @throws UnsupportedMemoryException if there is no shared arena there
     * @throws allocator.spi.DeviceException if the driver fails
     */
    public ShrinkReport shrink(MemoryLocation location) {
        while (true) {
            final ManagedAllocator arena =
                    Session.arena(sharedAllocator(location), location, AllocatorReport.ENVIRONMENT);
            try {
                return arena.shrink();
            } catch (AllocatorClosedException e) {
                if (sharedAllocator(location).filter(arena::equals).isPresent()) {
                    throw e;
                }
                // It was replaced during the call; shrink its successor.
            }
        }
    }

    /**
     * Opens a session.
     *
     * @param options its devices and settings
     * @return the session, which the caller closes
     * @throws InvalidOptionException if a setting is not understood
     * @throws IllegalArgumentException if a requested device or provider does not exist
     * @throws IllegalStateException if there is no device, or the environment is closed
     * @throws ProviderException if a provider breaks the contract
     * @throws allocator.spi.AllocatorException if a provider threw it while the allocators were created; those created
     *     before are released
     */
    public Session openSession(SessionOptions options) {
        final Session session = locked(() -> {
            requireOpen();
            registry.warnOfUnusedSettings();
            return addSession(options, planner.plan(options));
        });
        try {
            session.open(options.decorator(leakReports.interval()));
        } catch (Throwable e) {
            sessions.remove(session);
            throw e;
        }
        inspection.observers().changed();
        session.logReport();
        return session;
    }

    /**
     * Opens a session on the first device of a provider.
     *
     * @param provider the provider's name
     * @param options settings of the provider's allocators for this session by key, such as {@code arena.max_mem}
     * @return the session, which the caller closes
     * @throws InvalidOptionException if a setting is not understood
     * @throws IllegalArgumentException if there is no such provider, or it has no device
     * @throws IllegalStateException if the environment is closed
     * @throws ProviderException if a provider breaks the contract
     * @throws allocator.spi.AllocatorException as {@link #openSession(SessionOptions)}
     */
    public Session openSession(String provider, Map<String, String> options) {
        final SessionOptions.Builder session = SessionOptions.builder().provider(provider);
        options.forEach((key, value) -> session.option(OptionPlace.SESSION.prefix(provider) + key, value));
        return openSession(session.build());
    }

    private Session addSession(SessionOptions options, Plan plan) {
        final String name = options.name().isEmpty() ? "session-" + lastSession.incrementAndGet() : options.name();
        final Session session = new Session(this, name, plan, options.reservesInitializers());
        sessions.add(session);
        session.hold();
        return session;
    }

    /** Removes a session whose last allocator was released. */
    void forget(Session session) {
        sessions.remove(session);
        inspection.observers().changed();
    }

    /**
     * Releases the shared allocators and closes the providers. A second call tries again what failed, and otherwise
     * does nothing.
     *
     * @throws StillInUseException if sessions are open or blocks are live; the exception lists them, and nothing
     *     changes
     * @throws allocator.spi.AllocatorException if a provider failed to release an allocator or to close; the
     *     environment is closed nevertheless, and {@link #providers} still reports those that are not closed
     */
    @Override
    public void close() {
        try {
            closeUnused();
        } catch (StillInUseException e) {
            reportLeaks(
                    "environment that cannot be closed", this::usesWithLiveBlocks, leaks -> snapshotAfter(null, leaks));
            throw e;
        }
    }

    private void closeUnused() {
        changed(() -> {
            final Failures failures = new Failures();
            settle();
            if (!isClosed) {
                registry.warnOfUnusedSettings();
                final List<ManagedAllocator> ending =
                        end(allocator -> true, session -> true, "the environment cannot be closed");
                isClosed = true; // before a provider is called, which may call this environment
                SharedAllocators.close(ending, failures);
            }
            instances.returnAgain(provider -> true, failures);
            registry.closeAll(failures);
            endObservations();
            failures.throwIfAny();
            return null;
        });
    }

    /** Lets others shrink the allocators of this environment where the limit of a device is reached. */
    void beginObservations() {
        BudgetPressure.add(holder);
    }

    /** Ends what others may see of this environment. */
    void endObservations() {
        BudgetPressure.remove(holder);
        inspection.end();
    }

    /** Returns the allocators of the sessions and of this environment at this moment. Takes no lock of it. */
    List<ManagedAllocator> allocators() {
        return Stream.concat(
                        sessions.all().stream().flatMap(session -> session.allocators().stream()),
                        shared.all().stream())
                .toList();
    }

    private void requireOpen() {
        if (isClosed) {
            throw new IllegalStateException("the environment is closed");
        }
    }

    private <T extends @Nullable Object> T changed(Supplier<T> operation) {
        return locked(() -> {
            if (isChanging) {
                throw new IllegalStateException("a provider that the environment calls cannot change it");
            }
            isChanging = true;
            try {
                return operation.get();
            } finally {
                isChanging = false;
                inspection.observers().changed();
            }
        });
    }

    private <T extends @Nullable Object> T locked(Supplier<T> operation) {
        synchronized (lock) {
            return operation.get();
        }
    }
}
