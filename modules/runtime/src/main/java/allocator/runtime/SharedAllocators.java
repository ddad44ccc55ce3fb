package allocator.runtime;

import allocator.runtime.AllocatorReport.Source;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.SpiLevel;
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
 * The environment's allocators: for each memory location at most one of a provider, and above it at most one that the
 * application registered. Location is the only identity (M-01).
 *
 * <p>Changes are made under the environment's lock, lookups without.
 */
final class SharedAllocators {
    /**
     * A provider's allocator in its slot.
     *
     * @param isExplicit whether the application made it by a call, rather than the registration of its provider
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

    /** Allocators that were replaced or released while blocks of theirs were live. */
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

    /** What lookups answer, one for each location, in order of creation. */
    List<ManagedAllocator> all() {
        return slots.values().stream().flatMap(slot -> slot.visible().stream()).toList();
    }

    /** Every allocator of the environment that is not released, replaced ones included. */
    List<ManagedAllocator> unreleased() {
        return Stream.concat(
                        slots.values().stream()
                                .flatMap(slot -> Stream.concat(
                                        Optional.ofNullable(slot.owned()).map(Owned::allocator).stream(),
                                        Optional.ofNullable(slot.registered()).stream())),
                        retired.stream())
                .filter(allocator -> !allocator.isReleased())
                .toList();
    }

    /** Creates a provider's allocator and puts it in its slot, which is empty. */
    ManagedAllocator create(RegisteredProvider provider, MemoryInfo info) {
        return put(provider, info, provider.options(), false);
    }

    /**
     * Creates a provider's allocator, puts it in its slot, and only then lets go of the one that was there.
     *
     * @param explicit the settings of the call, which are stronger than the environment's
     * @throws IllegalStateException if an allocator of the application covers the slot
     */
    ManagedAllocator replace(RegisteredProvider provider, MemoryInfo info, AllocatorOptions explicit) {
        if (slot(info.location()).registered() != null) {
            throw new IllegalStateException("the application registered an allocator for " + info
                    + ": unregister it before an allocator of " + provider.name() + " takes its place");
        }
        final Owned old = slot(info.location()).owned();
        final AllocatorOptions wanted = provider.exclusive(provider.options().overriddenBy(explicit));
        final ManagedAllocator created = put(provider, info, wanted, true);
        if (old != null) {
            retire(old.allocator());
        }
        return created;
    }

    private static void logSettings(String provider, AllocatorReport report) {
        final String allocator = "shared allocator " + report.memory() + " of " + provider;
        Log.info(allocator + ": settings in force "
                + report.settings().stream()
                        .filter(setting -> setting.effective() != null)
                        .map(setting -> setting.key() + "=" + setting.effective())
                        .toList());
        report.settings().stream()
                .filter(setting -> !setting.isInForce())
                .forEach(setting -> Log.warning(allocator + ": " + setting.key() + "=" + setting.requested()
                        + " is not in force: " + setting.why()));
    }

    private ManagedAllocator put(
            RegisteredProvider provider, MemoryInfo info, AllocatorOptions wanted, boolean isExplicit) {
        final AllocatorReference reference = provider.create(info, wanted);
        final ManagedAllocator allocator = manage(reference, Source.CREATED, wanted);
        try {
            requireNotElsewhere(provider, info, reference.instance());
            logSettings(provider.name(), allocator.report());
        } catch (RuntimeException e) {
            final Failures failures = new Failures();
            failures.onUndo(allocator::close);
            throw failures.undo(e);
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
                        "returned an allocator that is already registered, for " + other.info() + ", when asked for "
                                + info,
                        null);
            }
        });
    }

    private ManagedAllocator manage(AllocatorReference reference, Source source, AllocatorOptions wanted) {
        final ManagedAllocator[] self = new ManagedAllocator[1];
        self[0] = new ManagedAllocator(
                reference,
                reference.allocator(),
                AllocatorReport.ENVIRONMENT,
                source,
                wanted,
                () -> retired.remove(self[0]));
        return self[0];
    }

    /** Closes an allocator that is no longer in a slot. What the provider throws from its release is logged. */
    private void retire(ManagedAllocator allocator) {
        retired.add(allocator);
        try {
            allocator.close();
        } catch (RuntimeException e) {
            Log.warning("release of " + allocator + ", which was replaced or released, failed", e);
        }
    }

    /** Takes a provider's allocator out of its slot. */
    void release(MemoryLocation location) {
        final Owned owned = slot(location).owned();
        if (owned == null) {
            throw new IllegalStateException(
                    "No allocator for this device has been registered for sharing: " + location);
        }
        put(location, new Slot(null, slot(location).registered()));
        retire(owned.allocator());
    }

    /** Puts an allocator of the application above whatever is in its slot. */
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

    /** Takes an allocator of the application away; what was there before is seen again. */
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

    /** The application may destroy its allocator afterwards, so nobody may depend on it any more. */
    private static void endRegistered(ManagedAllocator allocator, String what) {
        allocator.refuseAllocations();
        final List<String> users = new ArrayList<>();
        allocator.describeLiveBlocks().ifPresent(users::add);
        if (allocator.reference().users() > 1) {
            users.add("sessions use it");
        }
        if (!users.isEmpty()) {
            allocator.acceptAllocations();
            throw new StillInUseException(
                    "the registered allocator of " + allocator.info() + " cannot be " + what, users);
        }
        allocator.close();
    }

    /** Tells what lives in allocators of the environment. */
    List<String> liveBlocks(Predicate<ManagedAllocator> which) {
        return unreleased().stream()
                .filter(which)
                .flatMap(allocator -> allocator.describeLiveBlocks().stream())
                .toList();
    }

    /** Ends the providers' allocators among those given; nobody uses them any more. */
    void end(Collection<ManagedAllocator> ending, Failures failures) {
        final List<ManagedAllocator> lastFirst = new ArrayList<>(ending).reversed();
        for (final ManagedAllocator allocator : lastFirst) {
            final Slot slot = slot(allocator.info().location());
            final Owned owned = slot.owned();
            put(
                    allocator.info().location(),
                    new Slot(
                            owned != null && owned.allocator() == allocator ? null : owned,
                            slot.registered() == allocator ? null : slot.registered()));
            failures.attempt(allocator::close);
        }
    }

    /** Releases retired allocators whose blocks were freed through others. */
    void settle() {
        retired.forEach(ManagedAllocator::settleIfInstanceIdle);
    }
}
