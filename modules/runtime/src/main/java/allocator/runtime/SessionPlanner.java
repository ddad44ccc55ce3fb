package allocator.runtime;

import allocator.runtime.AllocatorReport.Source;
import allocator.runtime.ProviderRegistry.Scope;
import allocator.runtime.SessionOptions.RequestedDevice;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Decides how a session gets its devices and allocators: for each memory, the environment's allocator or a new one with
 * which settings. Creates no allocator.
 *
 * <p>Called under the environment's lock.
 */
record SessionPlanner(ProviderRegistry registry, SharedAllocators shared) {
    /**
     * How a session gets one of its allocators: one of the environment, or one to create.
     *
     * @param info the memory
     * @param source how the session gets it, for its report
     * @param requested the settings that the session requests
     * @param providerName the name of its provider
     * @param isLimited whether {@code arena.max_mem} limits it
     * @param existing the reference to the allocator of the environment, with this part as a user once it is held
     * @param acquiring returns the reference, created for the session of that name if it does not exist yet
     */
    record Part(
            MemoryInfo info,
            Source source,
            AllocatorOptions requested,
            String providerName,
            boolean isLimited,
            @Nullable AllocatorReference existing,
            Function<String, AllocatorReference> acquiring) {
        private static Part toCreate(
                RegisteredProvider provider, MemoryInfo info, Source source, AllocatorOptions requested) {
            return new Part(
                    info,
                    source,
                    requested,
                    provider.name(),
                    provider.isLimited(requested),
                    null,
                    session -> provider.createFor(session, info, requested));
        }

        /** Takes hold of what exists already, until {@link #acquire} or {@link #abandon}. Allocates nothing. */
        void hold() {
            if (existing != null) {
                existing.retain();
            }
        }

        /** Returns the reference, created if it does not exist yet. The caller releases it. */
        AllocatorReference acquire(String session) {
            return acquiring.apply(session);
        }

        /** Releases what the plan holds, in place of {@link #acquire}. */
        void abandon() {
            if (existing != null) {
                existing.release();
            }
        }
    }

    /**
     * What a session consists of. Immutable.
     *
     * @param devices its devices, the default one first
     * @param providers the names of all providers that its allocators come from
     * @param parts its allocators in the order of the devices, read-only ones among them; none of read-only memory
     *     where initializers count against the limit of other memory there
     * @param limitedInitializers where initializers are reserves of an arena, so that its limit covers them
     * @param transferring the providers of its devices and allocators, in this order
     * @param streams the streams of each device by its default memory
     * @param notes settings that apply to none of its allocators, and why
     */
    record Plan(
            List<ProviderDevice> devices,
            Set<String> providers,
            List<Part> parts,
            Set<MemoryLocation> limitedInitializers,
            List<RegisteredProvider> transferring,
            Map<MemoryLocation, SessionStreams> streams,
            List<String> notes) {
        Plan {
            devices = List.copyOf(devices);
            providers = Set.copyOf(providers);
            parts = List.copyOf(parts);
            limitedInitializers = Set.copyOf(limitedInitializers);
            transferring = List.copyOf(transferring);
            streams = Collections.unmodifiableMap(streams);
            notes = List.copyOf(notes);
        }

        /** Takes hold of every part; from here on, each is acquired or abandoned by the caller. Allocates nothing. */
        void hold() {
            for (int i = 0; i < parts.size(); i++) {
                parts.get(i).hold();
            }
        }
    }

    /**
     * Plans a session. The plan holds nothing yet.
     *
     * @throws allocator.spi.InvalidOptionException if a setting is not understood
     * @throws IllegalArgumentException if a requested device does not exist
     * @throws IllegalStateException if there is no device
     */
    Plan plan(SessionOptions options) {
        final List<ProviderDevice> devices = choose(options.requestedDevices());
        final Map<Scope, AllocatorOptions> own = registry.sessionSettings(options.settings());
        final boolean usesEnvironment = options.usesEnvironmentAllocators();
        final Set<String> providers = new TreeSet<>();
        devices.forEach(device -> providers.add(device.provider()));
        final List<String> notes = new ArrayList<>();
        own.forEach((scope, given) -> {
            if (!given.isEmpty() && devices.stream().noneMatch(scope::covers)) {
                notes.add("not effective, since the session has no " + scope + ": " + given);
            }
        });
        final List<Part> parts = new ArrayList<>();
        final Map<MemoryLocation, SessionStreams> streams = new LinkedHashMap<>();
        final Set<MemoryLocation> planned = new LinkedHashSet<>();
        final Set<MemoryLocation> plannedReadOnly = new LinkedHashSet<>();
        for (final ProviderDevice device : devices) {
            final RegisteredProvider provider = registry.provider(device);
            final AllocatorOptions given = own.entrySet().stream()
                    .filter(entry -> entry.getKey().covers(device))
                    .map(Map.Entry::getValue)
                    .reduce(AllocatorOptions.EMPTY, AllocatorOptions::overriddenBy);
            for (final MemoryInfo memory : device.device().memoryInfos()) {
                if ((memory.isReadOnly() ? plannedReadOnly : planned).add(memory.location())) {
                    parts.add(part(
                            provider,
                            memory,
                            given,
                            usesEnvironment ? shared(memory, options.namesDevices(), provider) : Optional.empty()));
                }
            }
            device.device()
                    .defaultMemory()
                    .ifPresent(memory -> streams.putIfAbsent(memory.location(), new SessionStreams(provider, memory)));
        }
        if (usesEnvironment) {
            shared.all().stream()
                    .filter(allocator -> planned.add(allocator.info().location()))
                    .forEach(allocator -> parts.add(existing(allocator, AllocatorOptions.EMPTY)));
        }
        final Set<MemoryLocation> limited = limitInitializers(parts);
        parts.forEach(part -> providers.add(part.providerName()));
        return new Plan(devices, providers, parts, limited, transferring(devices, parts), streams, notes);
    }

    /**
     * Removes the parts of read-only memory at the location of an arena with a limit, and returns these locations:
     * initializers are reserves of the arena there, since a limit of the session means all of its memory.
     */
    private static Set<MemoryLocation> limitInitializers(List<Part> parts) {
        final Set<MemoryLocation> limited = new HashSet<>();
        parts.stream()
                .filter(part -> !part.info().isReadOnly() && part.isLimited())
                .forEach(part -> limited.add(part.info().location()));
        final List<Part> replaced = parts.stream()
                .filter(part ->
                        part.info().isReadOnly() && limited.contains(part.info().location()))
                .toList();
        parts.removeAll(replaced);
        return replaced.stream().map(part -> part.info().location()).collect(Collectors.toSet());
    }

    private List<RegisteredProvider> transferring(List<ProviderDevice> devices, List<Part> parts) {
        final Set<RegisteredProvider> transferring = new LinkedHashSet<>();
        devices.forEach(device -> transferring.add(registry.provider(device)));
        parts.forEach(part -> registry.find(part.providerName()).ifPresent(transferring::add));
        return List.copyOf(transferring);
    }

    /**
     * Returns the environment's allocator of a memory for a session that uses those: any provider's, or if the session
     * names its providers only this one's or one that the application registered.
     */
    private Optional<ManagedAllocator> shared(MemoryInfo memory, boolean isNamed, RegisteredProvider provider) {
        return shared.find(memory.location())
                .filter(allocator -> !isNamed
                        || allocator.source() == Source.REGISTERED
                        || allocator.reference().provider().equals(provider.name()));
    }

    /**
     * Decides on one memory.
     *
     * @param own the session's own settings for the device
     * @param ofEnvironment the environment's allocator that the session uses, if it uses one
     */
    private Part part(
            RegisteredProvider provider,
            MemoryInfo memory,
            AllocatorOptions own,
            Optional<ManagedAllocator> ofEnvironment) {
        final AllocatorOptions requested = provider.options().overriddenBy(own);
        if (memory.isReadOnly()) {
            return Part.toCreate(provider, memory, Source.CREATED, requested);
        }
        if (ofEnvironment.isPresent()) {
            return existing(ofEnvironment.get(), own);
        }
        if (!own.isEmpty()) {
            final AllocatorOptions exclusive = provider.exclusive(requested);
            final Source source = provider.isExclusive(exclusive) ? Source.EXCLUSIVE : Source.CREATED;
            return Part.toCreate(provider, memory, source, exclusive);
        }
        return shared.owned(memory.location())
                .filter(owned -> owned.isExplicit()
                        && owned.provider().equals(provider.name())
                        && owned.info().equals(memory))
                .map(owned -> existing(owned.allocator(), own))
                .orElseGet(() -> Part.toCreate(provider, memory, Source.CREATED, requested));
    }

    private Part existing(ManagedAllocator allocator, AllocatorOptions own) {
        final AllocatorReference reference = allocator.reference();
        return new Part(
                allocator.info(),
                allocator.source() == Source.REGISTERED ? Source.REGISTERED : Source.ENVIRONMENT,
                allocator.requested().overriddenBy(own),
                reference.provider(),
                registry.find(reference.provider())
                        .filter(provider -> provider.isLimited(allocator.requested()))
                        .isPresent(),
                reference,
                _ -> reference);
    }

    private List<ProviderDevice> choose(List<RequestedDevice> requested) {
        final List<ProviderDevice> available = registry.devices();
        if (requested.isEmpty()) {
            return List.of(available.stream()
                    .filter(device -> !device.device().memoryInfos().isEmpty())
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("no device was found: " + registry.describe())));
        }
        final Set<ProviderDevice> chosen = new LinkedHashSet<>();
        for (final RequestedDevice one : requested) {
            chosen.add(available.stream()
                    .filter(one::matches)
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException(describeMissing(one))));
        }
        return List.copyOf(chosen);
    }

    private String describeMissing(RequestedDevice requested) {
        if (requested.device().isPresent()) {
            return requested + " is not a device of this environment; " + registry.describe();
        }
        return registry.find(requested.provider())
                .map(provider -> provider.devices().isEmpty()
                        ? "provider \"" + provider.name() + "\" has " + ProviderRegistry.describeDevices(provider)
                        : "provider \"" + provider.name() + "\" has no device "
                                + requested.ordinal().orElse(0) + "; its devices are: "
                                + ProviderRegistry.describeDevices(provider))
                .orElseGet(() -> "no provider named \"" + requested.provider() + "\"; " + registry.describe());
    }
}
