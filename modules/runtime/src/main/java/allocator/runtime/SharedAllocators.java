package allocator.runtime;

import allocator.runtime.AllocatorReport.Source;
import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.runtime.lifetime.Cleanup;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.SpiLevel;
import allocator.spi.UnsupportedMemoryException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
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
    private volatile Map<MemoryLocation, Slot> slots = Map.of();

    /** Allocators that were replaced or released while they had live blocks. */
    private final Set<ManagedAllocator> retired = ConcurrentHashMap.newKeySet();

    SharedAllocators(AllocatorInstances instances) {
        this.instances = instances;
    }

    private Slot slot(MemoryLocation location) {
        return slots.getOrDefault(location, EMPTY);
    }

    private void put(MemoryLocation location, Slot slot) {
        final Map<MemoryLocation, Slot> changed = new LinkedHashMap<>(slots);
        if (slot.visible().isPresent()) {
            changed.put(location, slot);
        } else {
            changed.remove(location);
        }
        slots = changed;
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

    /** Returns every allocator of the environment that is not released, replaced ones included. */
    List<ManagedAllocator> unreleased() {
        return Stream.concat(
                        slots.values().stream()
                                .flatMap(slot -> Stream.concat(
                                        Optional.ofNullable(slot.owned()).map(Owned::allocator).stream(),
                                        Optional.ofNullable(slot.registered()).stream())),
                        retired.stream())
                .filter(allocator -> !allocator.lease().isReleased())
                .toList();
    }

    /** Creates the shared allocators of a provider, all or none, where no other provider has one. */
    void share(RegisteredProvider provider) {
        final List<ManagedAllocator> created = new ArrayList<>();
        try {
            provider.devices().stream()
                    .flatMap(device -> device.memoryInfos().stream())
                    .filter(info -> !info.isReadOnly())
                    .forEach(info -> share(provider, info, created));
        } catch (RuntimeException e) {
            final Cleanup cleanup = new Cleanup();
            cleanup.add(e);
            end(created, cleanup);
            throw e;
        }
    }

    private void share(RegisteredProvider provider, MemoryInfo info, List<ManagedAllocator> created) {
        final Optional<Owned> present = owned(info.location());
        if (present.isPresent()) {
            provider.addNote("A shared allocator is already registered for " + info + ", that of "
                    + present.get().provider() + ": none is made");
            return;
        }
        created.add(put(provider, info, provider.options(), false));
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
        final ManagedAllocator created = put(provider, info, requested, true);
        if (old != null) {
            retire(old.allocator());
        }
        return created;
    }

    private static void logSettings(String provider, AllocatorReport report) {
        final String allocator = "shared allocator " + report.memory() + " of " + provider;
        Log.info(allocator + ": effective settings "
                + report.settings().stream()
                        .filter(setting -> setting.effective() != null)
                        .map(setting -> setting.key() + "=" + setting.effective())
                        .toList());
        report.settings().stream()
                .filter(setting -> !setting.isEffective())
                .forEach(setting -> Log.warning(allocator + ": " + setting.key() + "=" + setting.requested()
                        + " is not effective: " + setting.why()));
    }

    private ManagedAllocator put(
            RegisteredProvider provider, MemoryInfo info, AllocatorOptions requested, boolean isExplicit) {
        final AllocatorReference reference = provider.create(info, requested);
        final ManagedAllocator allocator = manage(reference, Source.CREATED, requested);
        try {
            requireNotElsewhere(provider, info, reference.instance());
            logSettings(provider.name(), allocator.report());
        } catch (RuntimeException e) {
            final Cleanup cleanup = new Cleanup();
            cleanup.onUndo(allocator::close);
            throw cleanup.undo(e);
        }
        final ManagedAllocator registered = slot(info.location()).registered();
        put(info.location(), new Slot(new Owned(provider.name(), info, allocator, isExplicit), registered));
        return allocator;
    }

    private void requireNotElsewhere(
            RegisteredProvider provider, MemoryInfo info, AllocatorInstances.Instance instance) {
        slots.forEach((location, slot) -> {
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

    private ManagedAllocator manage(AllocatorReference reference, Source source, AllocatorOptions requested) {
        final ManagedAllocator[] self = new ManagedAllocator[1];
        self[0] = new ManagedAllocator(
                reference,
                reference.allocator(),
                AllocatorReport.ENVIRONMENT,
                source,
                requested,
                () -> retired.remove(self[0]));
        return self[0];
    }

    /** Closes an allocator that is no longer in a slot. A failure of the provider to release it is logged. */
    private void retire(ManagedAllocator allocator) {
        retired.add(allocator);
        try {
            allocator.close();
        } catch (RuntimeException e) {
            Log.warning("release of " + allocator + ", which was replaced or released, failed", e);
        }
    }

    /** Removes a provider's allocator from its slot and retires it. */
    void release(MemoryLocation location) {
        final Owned owned = slot(location).owned();
        if (owned == null) {
            throw new IllegalStateException(
                    "No allocator for this device has been registered for sharing: " + location);
        }
        put(location, new Slot(null, slot(location).registered()));
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
        final Slot slot = slot(info.location());
        final ManagedAllocator old = slot.registered();
        if (old != null) {
            endRegistered(old, "replaced");
        }
        final AllocatorInstances.Instance instance = instances.acquire(allocator);
        final ManagedAllocator managed = manage(
                new AllocatorReference(
                        allocator, AllocatorReport.APPLICATION, List.of(), instance, () -> instances.drop(allocator)),
                Source.REGISTERED,
                AllocatorOptions.EMPTY);
        put(info.location(), new Slot(slot.owned(), managed));
        Log.info("the application registered an allocator for " + info);
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
        endRegistered(registered, "unregistered");
        put(location, new Slot(slot.owned(), null));
    }

    /** Requires that nothing uses the allocator, since the application may destroy it afterwards. */
    private static void endRegistered(ManagedAllocator allocator, String what) {
        allocator.lease().rejectAllocations();
        final List<String> users = new ArrayList<>();
        allocator.describeLiveBlocks().ifPresent(users::add);
        if (allocator.reference().users() > 1) {
            users.add("sessions use it");
        }
        if (!users.isEmpty()) {
            allocator.lease().acceptAllocations();
            throw new StillInUseException(
                    "the registered allocator of " + allocator.info() + " cannot be " + what, users);
        }
        allocator.close();
    }

    /** Describes the live blocks of allocators of the environment. */
    List<String> liveBlocks(Predicate<ManagedAllocator> which) {
        return unreleased().stream()
                .filter(which)
                .flatMap(allocator -> allocator.describeLiveBlocks().stream())
                .toList();
    }

    /** Empties the slots of allocators that nothing uses, and closes them, last one first. */
    void end(Collection<ManagedAllocator> ending, Cleanup cleanup) {
        final List<ManagedAllocator> lastFirst = new ArrayList<>(ending).reversed();
        for (final ManagedAllocator allocator : lastFirst) {
            final Slot slot = slot(allocator.info().location());
            final Owned owned = slot.owned();
            put(
                    allocator.info().location(),
                    new Slot(
                            owned != null && owned.allocator() == allocator ? null : owned,
                            slot.registered() == allocator ? null : slot.registered()));
            cleanup.attempt(allocator::close);
        }
    }

    /** Releases retired allocators whose blocks were freed through other owners. */
    void settle() {
        retired.forEach(allocator -> allocator.lease().settleIfInstanceIdle());
    }
}
