package allocator.runtime;

import allocator.provider.support.internal.Failures;
import allocator.runtime.AllocatorReport.Source;
import allocator.runtime.discovery.Log;
import allocator.runtime.inspection.FailureSnapshots;
import allocator.runtime.inspection.LeakReports;
import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.SpiLevel;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The environment's allocators. Each memory location has at most one of a provider and at most one that the application
 * registered, which takes precedence. Location is the only identity (M-01).
 *
 * <p>Changed under the environment's lock; looked up without it.
 */
final class SharedAllocators {
    /**
     * A provider's allocator in its slot.
     *
     * @param isExplicit whether a call of the application created it, rather than the registration of its provider
     */
    record Owned(String provider, MemoryInfo info, ManagedAllocator allocator, boolean isExplicit) {}

    private record Slot(@Nullable Owned owned, @Nullable ManagedAllocator registered) {
        Optional<ManagedAllocator> visible() {
            return Optional.ofNullable(registered != null ? registered : owned != null ? owned.allocator() : null);
        }
    }

    private static final Slot EMPTY = new Slot(null, null);

    private final AllocatorInstances instances;
    private final FailureSnapshots failureSnapshots;
    private final LeakReports leakReports;
    private volatile Map<MemoryLocation, Slot> slots = Map.of();

    /** Allocators that were replaced or released while they had live blocks. */
    private final Set<ManagedAllocator> retired = ConcurrentHashMap.newKeySet();

    SharedAllocators(AllocatorInstances instances, FailureSnapshots failureSnapshots, LeakReports leakReports) {
        this.instances = instances;
        this.failureSnapshots = failureSnapshots;
        this.leakReports = leakReports;
    }

    private Slot slot(MemoryLocation location) {
        return slots.getOrDefault(location, EMPTY);
    }

    /** Returns the slots with one changed; to be stored in {@link #slots} once nothing else can fail. */
    private Map<MemoryLocation, Slot> with(MemoryLocation location, Slot slot) {
        final Map<MemoryLocation, Slot> changed = new LinkedHashMap<>(slots);
        put(changed, location, slot);
        return changed;
    }

    private static void put(Map<MemoryLocation, Slot> slots, MemoryLocation location, Slot slot) {
        if (slot.visible().isPresent()) {
            slots.put(location, slot);
        } else {
            slots.remove(location);
        }
    }

    Optional<ManagedAllocator> find(MemoryLocation location) {
        return slot(location).visible();
    }

    Optional<Owned> owned(MemoryLocation location) {
        return Optional.ofNullable(slot(location).owned());
    }

    /** Returns what lookups find, one for each location, in order of creation. */
    List<ManagedAllocator> all() {
        return slots.values().stream().flatMap(slot -> slot.visible().stream()).toList();
    }

    /** Returns every allocator of the environment that is not released and returned, replaced ones included. */
    List<ManagedAllocator> unreleased() {
        return Stream.concat(
                        slots.values().stream()
                                .flatMap(slot -> Stream.concat(
                                        Optional.ofNullable(slot.owned()).map(Owned::allocator).stream(),
                                        Optional.ofNullable(slot.registered()).stream())),
                        retired.stream())
                .filter(allocator -> !allocator.lease().isFinished())
                .distinct()
                .toList();
    }

    private static List<MemoryInfo> shareable(RegisteredProvider provider) {
        return provider.devices().stream()
                .flatMap(device -> device.memoryInfos().stream())
                .filter(info -> !info.isReadOnly())
                .toList();
    }

    /**
     * Adds a note to a provider for each of its memories for which another one has the shared allocator.
     *
     * @param before the providers that are to {@link #share} before it
     * @param why says why the provider of a name comes first
     */
    void noteOthers(RegisteredProvider provider, List<RegisteredProvider> before, UnaryOperator<String> why) {
        for (final MemoryInfo info : shareable(provider)) {
            owned(info.location())
                    .map(Owned::provider)
                    .or(() -> before.stream()
                            .filter(other -> shareable(other).stream()
                                    .anyMatch(memory -> memory.location().equals(info.location())))
                            .map(RegisteredProvider::name)
                            .findFirst())
                    .ifPresent(owner -> provider.addNote("A shared allocator is already registered for " + info
                            + ", that of " + owner + ", since " + why.apply(owner) + ": none is made"));
        }
    }

    /** Creates the shared allocators of providers, all or none, where no other provider has one. */
    void share(List<RegisteredProvider> providers) {
        record Shareable(RegisteredProvider provider, MemoryInfo info) {}
        final Map<MemoryLocation, Slot> changed = new LinkedHashMap<>(slots);
        final List<Shareable> memories = providers.stream()
                .flatMap(provider -> shareable(provider).stream().map(info -> new Shareable(provider, info)))
                .toList();
        final ManagedAllocator[] created = new ManagedAllocator[memories.size()];
        try {
            for (int i = 0; i < created.length; i++) {
                final RegisteredProvider provider = memories.get(i).provider();
                final MemoryInfo info = memories.get(i).info();
                final Slot slot = changed.getOrDefault(info.location(), EMPTY);
                if (slot.owned() == null) {
                    created[i] = create(provider, info, provider.options(), changed);
                    changed.put(
                            info.location(),
                            new Slot(new Owned(provider.name(), info, created[i], false), slot.registered()));
                }
            }
            for (final RegisteredProvider provider : providers) {
                logSettings(
                        provider.name(),
                        provider.options(),
                        Stream.of(created)
                                .filter(Objects::nonNull)
                                .filter(allocator ->
                                        allocator.reference().provider().equals(provider.name()))
                                .map(ManagedAllocator::report)
                                .toList());
            }
            slots = changed;
        } catch (Throwable e) {
            for (int i = created.length - 1; i >= 0; i--) {
                closeAfter(e, created[i]);
            }
            throw e;
        }
    }

    /** Closes an allocator, if there is one, after a failure, in which it suppresses another. */
    private static void closeAfter(Throwable failure, @Nullable ManagedAllocator allocator) {
        try {
            if (allocator != null) {
                allocator.close();
            }
        } catch (Throwable e) {
            Failures.suppress(failure, e);
        }
    }

    /**
     * Creates a provider's allocator, puts it in its slot, and only then retires the one that was there.
     *
     * @param device a device of the provider
     * @param explicit the settings of the call, which override the environment's
     * @throws UnsupportedMemoryException if the device does not have the memory
     * @throws IllegalArgumentException if the memory is read-only
     * @throws IllegalStateException if the application registered an allocator there
     */
    ManagedAllocator replace(
            RegisteredProvider provider, ProviderDevice device, MemoryInfo info, AllocatorOptions explicit) {
        if (!device.device().memoryInfos().contains(info)) {
            throw new UnsupportedMemoryException(
                    device + " has no " + info + ", it has " + device.device().memoryInfos());
        }
        if (info.isReadOnly()) {
            throw new IllegalArgumentException(info + " is read-only, and read-only memory is never shared");
        }
        explicit.requireValid(provider.keys());
        if (slot(info.location()).registered() != null) {
            throw new IllegalStateException("the application registered an allocator for " + info
                    + ": unregister it before an allocator of " + provider.name() + " takes its place");
        }
        final Owned old = slot(info.location()).owned();
        final AllocatorOptions requested = provider.exclusive(provider.options().overriddenBy(explicit));
        final ManagedAllocator created = create(provider, info, requested, slots);
        try {
            logSettings(provider.name(), explicit, List.of(created.report()));
            final Owned owned = new Owned(provider.name(), info, created, true);
            replace(
                    old,
                    with(info.location(), new Slot(owned, slot(info.location()).registered())));
        } catch (Throwable e) {
            closeAfter(e, created);
            throw e;
        }
        if (old != null) {
            retire(old.allocator());
        }
        return created;
    }

    /** Stores slots in which a provider's allocator is no more; the caller {@linkplain #retire retires} it. */
    private void replace(@Nullable Owned old, Map<MemoryLocation, Slot> changed) {
        if (old != null) {
            retired.add(old.allocator());
        }
        slots = changed;
    }

    /** Logs the settings of allocators that were created together, and warns of those asked for that they lack. */
    private static void logSettings(String provider, AllocatorOptions asked, List<AllocatorReport> reports) {
        for (final AllocatorReport report : reports) {
            final String allocator = "shared allocator " + report.memory() + " of " + provider;
            Log.debug(allocator + ": effective settings "
                    + report.settings().stream()
                            .filter(setting -> setting.effective() != null)
                            .map(setting -> setting.key() + "=" + setting.effective())
                            .toList());
            report.settings().stream()
                    .filter(setting ->
                            asked.keys().contains(setting.key()) && SessionReport.isContrary(setting, report, reports))
                    .forEach(setting -> Log.warning(allocator + ": " + setting.key() + "=" + setting.requested()
                            + " is not effective: " + setting.why()));
        }
    }

    /**
     * Creates a provider's allocator and checks it. If this method throws, there is none.
     *
     * @param others the slots that the new allocator will be among
     */
    private ManagedAllocator create(
            RegisteredProvider provider,
            MemoryInfo info,
            AllocatorOptions requested,
            Map<MemoryLocation, Slot> others) {
        final AllocatorReference reference = provider.create(info, requested);
        final ManagedAllocator allocator = manage(reference, Source.CREATED, requested);
        try {
            requireNotElsewhere(provider, info, reference.instance(), others);
        } catch (Throwable e) {
            closeAfter(e, allocator);
            throw e;
        }
        return allocator;
    }

    private static void requireNotElsewhere(
            RegisteredProvider provider,
            MemoryInfo info,
            AllocatorInstances.Instance instance,
            Map<MemoryLocation, Slot> others) {
        others.forEach((location, slot) -> {
            final Owned other = slot.owned();
            if (!location.equals(info.location())
                    && other != null
                    && other.allocator().reference().instance().equals(instance)) {
                throw new ProviderException(
                        provider.name(),
                        "returned an allocator that is already registered, for " + other.info()
                                + ", when requested for " + info,
                        null);
            }
        });
    }

    /** Takes over a use of a reference, also if this method throws. */
    private ManagedAllocator manage(AllocatorReference reference, Source source, AllocatorOptions requested) {
        try {
            final ManagedAllocator[] self = new ManagedAllocator[1];
            self[0] = new ManagedAllocator(
                    reference,
                    leakReports.recorded(reference.allocator()),
                    AllocatorReport.ENVIRONMENT,
                    source,
                    requested,
                    failureSnapshots,
                    () -> retired.remove(self[0]));
            return self[0];
        } catch (Throwable e) {
            reference.releaseAfter(e);
            throw e;
        }
    }

    /** Closes a retired allocator. A failure of the provider to release it is logged. */
    private static void retire(ManagedAllocator allocator) {
        try {
            allocator.close();
        } catch (Throwable e) {
            Log.failed("release", allocator, e);
        }
    }

    /** Removes a provider's allocator from its slot and retires it. */
    void release(MemoryLocation location) {
        final Owned owned = slot(location).owned();
        if (owned == null) {
            throw new IllegalStateException(
                    "No allocator for this device has been registered for sharing: " + location);
        }
        replace(owned, with(location, new Slot(null, slot(location).registered())));
        retire(owned.allocator());
    }

    /** Registers an allocator of the application, which hides the provider's in its slot. */
    ManagedAllocator register(Allocator allocator) {
        final MemoryInfo info =
                ProviderCalls.call(AllocatorReport.APPLICATION, "the registered allocator's info", allocator::info);
        if (info.allocatorType() == AllocatorType.ARENA) {
            throw new IllegalArgumentException(
                    info + " has the allocator type ARENA, which is reserved for the runtime; register it as DEVICE");
        }
        if (info.isReadOnly()) {
            throw new IllegalArgumentException(info + " is read-only, and read-only memory is never shared");
        }
        final int level = ProviderCalls.call(
                AllocatorReport.APPLICATION, "the registered allocator's spiLevel", allocator::spiLevel);
        if (level < SpiLevel.MINIMUM) {
            throw new IllegalArgumentException("the allocator of " + info + " has the SPI level " + level);
        }
        final String registered = "the application registered an allocator for " + info;
        final ManagedAllocator managed = manage(
                new AllocatorReference(
                        instances, AllocatorReport.APPLICATION, List.of(), () -> allocator, returned -> {}),
                Source.REGISTERED,
                AllocatorOptions.EMPTY);
        try {
            final Slot slot = slot(info.location());
            final Map<MemoryLocation, Slot> changed = with(info.location(), new Slot(slot.owned(), managed));
            if (slot.registered() != null) {
                endRegistered(slot.registered(), "replaced");
            }
            slots = changed;
        } catch (Throwable e) {
            closeAfter(e, managed);
            throw e;
        }
        Log.debug(registered);
        return managed;
    }

    /** Removes an allocator of the application; the provider's in its slot is visible again. */
    void unregister(MemoryLocation location) {
        final Slot slot = slot(location);
        final ManagedAllocator registered = slot.registered();
        if (registered == null) {
            throw new IllegalStateException(
                    "No allocator for this device has been registered for sharing: the application registered none for "
                            + location);
        }
        final Map<MemoryLocation, Slot> changed = with(location, new Slot(slot.owned(), null));
        endRegistered(registered, "unregistered");
        slots = changed;
    }

    /**
     * Requires that nothing uses the allocator, since the application may destroy it afterwards, and releases it. If
     * this method throws, it is not released.
     */
    private static void endRegistered(ManagedAllocator allocator, String what) {
        final boolean isCalled = !allocator.lease().awaitCalls();
        allocator.lease().pauseAllocations();
        try {
            if (!isCalled && !isUsed(allocator)) {
                closeRegistered(allocator);
                return;
            }
        } finally {
            allocator.lease().resumeAllocations();
        }
        final List<String> users = new ArrayList<>();
        allocator.describeLiveBlocks().ifPresent(blocks -> users.add(AllocatorReport.ENVIRONMENT + " " + blocks));
        if (allocator.reference().users() > 1) {
            users.add("sessions use it");
        }
        if (isCalled) {
            users.add("a call of it is under way");
        }
        throw new StillInUseException("the registered allocator of " + allocator.info() + " cannot be " + what, users);
    }

    private static void closeRegistered(ManagedAllocator allocator) {
        try {
            allocator.closeUnused();
        } catch (Throwable e) {
            if (!allocator.lease().isReleased()) {
                throw e;
            }
            Log.failed("release", allocator, e);
        }
    }

    private static boolean isUsed(ManagedAllocator allocator) {
        return allocator.hasLiveBlocks() || allocator.reference().users() > 1;
    }

    /** Returns whether blocks of allocators of the environment are live. Calls no provider. */
    boolean haveLiveBlocks(Predicate<ManagedAllocator> which) {
        return unreleased().stream().filter(which).anyMatch(ManagedAllocator::hasLiveBlocks);
    }

    /** Describes the live blocks of allocators of the environment. */
    List<String> liveBlocks(Predicate<ManagedAllocator> which) {
        return unreleased().stream()
                .filter(which)
                .flatMap(allocator -> allocator.describeLiveBlocks().stream())
                .map(blocks -> AllocatorReport.ENVIRONMENT + " " + blocks)
                .toList();
    }

    /** Empties the slots of allocators that nothing uses and that the caller then {@linkplain #close closes}. */
    void remove(List<ManagedAllocator> ending) {
        final Map<MemoryLocation, Slot> changed = new LinkedHashMap<>(slots);
        for (final ManagedAllocator allocator : ending) {
            final MemoryLocation location = allocator.info().location();
            final Slot slot = changed.getOrDefault(location, EMPTY);
            final Owned owned = slot.owned();
            put(
                    changed,
                    location,
                    new Slot(
                            owned != null && owned.allocator() == allocator ? null : owned,
                            slot.registered() == allocator ? null : slot.registered()));
        }
        retired.addAll(ending);
        slots = changed;
    }

    /** Closes allocators, last one first. */
    static void close(List<ManagedAllocator> ending, Failures failures) {
        ending.reversed().forEach(allocator -> failures.run(allocator::closeUnused));
    }

    /** Releases retired allocators whose blocks were freed through other owners, and what a failure has left. */
    void settle(Failures failures) {
        // One that is still in a slot was to be removed from it, which failed.
        slots.values().forEach(slot -> {
            if (slot.owned() != null) {
                retired.remove(slot.owned().allocator());
            }
            if (slot.registered() != null) {
                retired.remove(slot.registered());
            }
        });
        retired.removeIf(allocator -> {
            failures.run(allocator::close);
            return allocator.lease().isFinished();
        });
    }
}
