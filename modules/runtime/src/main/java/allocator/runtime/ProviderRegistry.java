package allocator.runtime;

import allocator.provider.support.internal.Failures;
import allocator.runtime.RegisteredProvider.Candidate;
import allocator.runtime.discovery.Causes;
import allocator.runtime.discovery.LoadedFactory;
import allocator.runtime.discovery.Log;
import allocator.runtime.discovery.SearchResult;
import allocator.runtime.discovery.SkippedProvider;
import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.options.DeviceLimits;
import allocator.runtime.options.OptionPlace;
import allocator.runtime.options.ProviderOrder;
import allocator.spi.AllocatorOptions;
import allocator.spi.DeviceType;
import allocator.spi.EpFactory;
import allocator.spi.InvalidOptionException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The providers of an environment: registered ones with their devices, and those that failed. Registering a provider
 * also makes its shared allocators.
 *
 * <p>Called under the environment's lock.
 */
final class ProviderRegistry {
    private static final List<DeviceType> PREFERENCE =
            List.of(DeviceType.GPU, DeviceType.NPU, DeviceType.CPU, DeviceType.FPGA);

    private static final String ADVICE =
            "put the jar of a provider on the module path or the class path, such as java-allocator-cpu-reference";

    private final Map<String, String> settings;
    private final ProviderOrder order;
    private final AllocatorInstances instances;
    private final SharedAllocators shared;
    private final Map<String, RegisteredProvider> providers = new LinkedHashMap<>();
    private final List<ProviderReport> failures = new ArrayList<>();
    private final Set<String> everRegistered = new TreeSet<>();
    private List<String> searched = List.of();
    private boolean hasWarned;

    /** The factories that were not registered and failed to close. */
    private final ArrayList<EpFactory> unclosed = new ArrayList<>();

    /**
     * Makes a registry without providers.
     *
     * @param settings the environment's settings of providers
     */
    ProviderRegistry(
            ProviderOrder order, Map<String, String> settings, AllocatorInstances instances, SharedAllocators shared) {
        this.order = order;
        this.settings = settings;
        this.instances = instances;
        this.shared = shared;
    }

    /** Returns the reports of registered providers, those with devices first, in order; then of those that failed. */
    List<ProviderReport> reports() {
        final List<ProviderReport> reports = new ArrayList<>();
        providers.values().forEach(provider -> reports.add(provider.report()));
        reports.sort(
                Comparator.comparing((ProviderReport report) -> report.devices().isEmpty())
                        .thenComparing(order.comparing(ProviderReport::name, ProviderReport::priority)));
        reports.addAll(failures);
        return List.copyOf(reports);
    }

    /** Returns the providers that may be used, in order of registration. */
    private Stream<RegisteredProvider> open() {
        return providers.values().stream().filter(RegisteredProvider::isOpen);
    }

    /** Returns the devices of all providers that may be used: best kind first, and of one kind in their order. */
    List<ProviderDevice> devices() {
        return open().sorted(order.comparing(RegisteredProvider::name, RegisteredProvider::priority))
                .flatMap(ProviderRegistry::devicesOf)
                .sorted(Comparator.comparingInt(device -> PREFERENCE.indexOf(device.type())))
                .toList();
    }

    /** Says why a provider has the shared allocator of a memory that another one has too. */
    private String whyServes(String owner, RegisteredProvider other) {
        final RegisteredProvider serving = providers.get(owner);
        return serving == null
                ? "it was registered before"
                : order.why(owner, serving.priority(), other.name(), other.priority());
    }

    /** Returns a provider that may be used. */
    Optional<RegisteredProvider> find(String provider) {
        return Optional.ofNullable(providers.get(provider)).filter(RegisteredProvider::isOpen);
    }

    List<String> names() {
        return open().map(RegisteredProvider::name).toList();
    }

    /**
     * Returns the provider of a device.
     *
     * @throws IllegalArgumentException if it is not a device of a provider that may be used
     */
    RegisteredProvider provider(ProviderDevice device) {
        return find(device.provider())
                .filter(provider -> provider.devices().contains(device.device()))
                .orElseThrow(() -> new IllegalArgumentException(device + " is not a device of this environment"));
    }

    /**
     * Registers providers, all or none. If this method throws, nothing is registered. Until it returns, the providers
     * may not be used: a call-back would use what may not be registered. Returns their reports, in the same order.
     */
    List<ProviderReport> register(List<Candidate> candidates) {
        final List<RegisteredProvider> made = new ArrayList<>(candidates.size());
        final List<DeviceLimits.Limit> limits = new ArrayList<>();
        final List<ProviderReport> reports;
        final List<String> registered;
        boolean areRegistered = false;
        try {
            for (final Candidate candidate : candidates) {
                providers.values().forEach(present -> present.requireDistinctFrom(candidate));
                final RegisteredProvider provider = new RegisteredProvider(candidate, instances, settings);
                limits.addAll(DeviceLimits.of(settings, provider.devices()));
                shared.noteOthers(provider, made, owner -> whyServes(owner, provider));
                made.add(provider);
                providers.put(provider.name(), provider);
            }
            reports = made.stream().map(RegisteredProvider::report).toList();
            registered = made.stream()
                    .map(provider -> "registered " + provider.name() + " with "
                            + provider.devices().size() + " devices")
                    .toList();
            shared.share(made);
            made.forEach(provider -> everRegistered.add(provider.name()));
            limits.forEach(DeviceLimits.Limit::set);
            areRegistered = true;
        } finally {
            for (int i = 0; i < made.size(); i++) {
                if (areRegistered) {
                    made.get(i).isOpen(true);
                } else {
                    providers.remove(made.get(i).name());
                }
            }
        }
        for (int i = 0; i < registered.size(); i++) {
            Log.debug(registered.get(i));
        }
        return reports;
    }

    /**
     * Registers what a search of one path found, all or none, in the order of providers. What the lists of what may
     * load keep out is logged. If this method throws, every factory is closed.
     *
     * @throws IllegalArgumentException if something there cannot be loaded, or nothing is left to register
     */
    List<ProviderReport> registerFrom(Path path, SearchResult found) {
        try {
            final List<SkippedProvider> faulty = found.skipped().stream()
                    .filter(skipped -> !skipped.isKeptOut())
                    .toList();
            if (!faulty.isEmpty() || found.factories().isEmpty()) {
                throw new IllegalArgumentException("no provider of " + path + " was registered: "
                        + (faulty.isEmpty() ? found.skipped() : faulty)
                                .stream()
                                        .map(skipped -> skipped.name() + ": " + skipped.reason())
                                        .collect(Collectors.joining(", ")));
            }
            found.skipped().forEach(skipped -> warnOfUnused(skipped.name(), skipped.reason()));
            return register(found.factories().stream()
                    .map(Candidate::of)
                    .sorted(order.comparing(Candidate::name, Candidate::priority))
                    .toList());
        } catch (Throwable e) {
            found.factories().forEach(this::close);
            throw e;
        }
    }

    /**
     * Registers what a search found, in the order of providers: the first one of a memory gets its shared allocator,
     * wherever it was found. A provider that cannot be registered is reported and closed.
     *
     * @throws InvalidOptionException if a setting is not understood by the provider that it is for; nothing is
     *     registered then, and every provider is closed
     */
    void registerFound(SearchResult found) {
        searched = found.searched();
        found.skipped()
                .forEach(skipped -> failures.add(
                        ProviderReport.failed(skipped.name(), skipped.module(), skipped.origin(), skipped.reason())));
        final List<Candidate> candidates = withoutAmbiguity(named(found.factories())).stream()
                .sorted(order.comparing(Candidate::name, Candidate::priority))
                .toList();
        try {
            candidates.forEach(this::registerFound);
        } catch (Throwable e) {
            abandon(candidates, e);
            throw e;
        }
        failures.forEach(report -> warnOfUnused(report.name(), report.failure().orElse("")));
    }

    private static void warnOfUnused(String provider, String reason) {
        Log.warning("provider " + provider + " is not used: " + reason);
    }

    /** Warns, once, of the settings of which no provider was ever registered. */
    void warnOfUnusedSettings() {
        if (!hasWarned) {
            hasWarned = true;
            unusedSettings(everRegistered).forEach(Log::warning);
        }
    }

    private List<Candidate> named(List<LoadedFactory> factories) {
        final List<Candidate> candidates = new ArrayList<>();
        for (final LoadedFactory factory : factories) {
            try {
                candidates.add(Candidate.of(factory));
            } catch (Throwable e) {
                failures.add(ProviderReport.failed(
                        factory.className(), factory.module(), factory.origin(), Causes.describe(e)));
                close(factory);
            }
        }
        return candidates;
    }

    /** Closes a factory that is not registered. A failure is logged, and tried again by {@link #closeAll}. */
    private void close(LoadedFactory factory) {
        unclosed.ensureCapacity(unclosed.size() + 1);
        try {
            factory.factory().close();
        } catch (Throwable e) {
            unclosed.add(factory.factory());
            Log.failed("close", factory.describe(), e);
        }
    }

    /** Drops all providers whose names could be meant by the same option key. */
    private List<Candidate> withoutAmbiguity(List<Candidate> candidates) {
        final Map<String, List<Candidate>> byIdentity = new LinkedHashMap<>();
        candidates.forEach(candidate -> byIdentity
                .computeIfAbsent(candidate.identity(), ignored -> new ArrayList<>())
                .add(candidate));
        final List<Candidate> clear = new ArrayList<>();
        for (final List<Candidate> same : byIdentity.values()) {
            if (same.size() == 1) {
                clear.addAll(same);
            } else {
                same.forEach(candidate -> failures.add(dropAmbiguous(candidate, same)));
            }
        }
        return clear;
    }

    private ProviderReport dropAmbiguous(Candidate candidate, List<Candidate> same) {
        close(candidate.loaded());
        return candidate.failed("several providers have this name, exclude all modules but one: "
                + same.stream().map(other -> other.loaded().describe()).collect(Collectors.joining(", ")));
    }

    private void registerFound(Candidate candidate) {
        try {
            register(List.of(candidate));
        } catch (InvalidOptionException e) {
            final String prefix = OptionPlace.ENVIRONMENT.prefix(candidate.name());
            if (DeviceLimits.isKey(e.key()) || settings.keySet().stream().anyMatch(key -> key.startsWith(prefix))) {
                throw e;
            }
            fail(candidate, e);
        } catch (Throwable e) {
            fail(candidate, e);
        }
    }

    private void fail(Candidate candidate, Throwable e) {
        close(candidate.loaded());
        failures.add(candidate.failed(Causes.reason(e)));
    }

    /** Closes the providers that were registered, and then the others. */
    private void abandon(List<Candidate> candidates, Throwable cause) {
        final Failures failures = new Failures();
        failures.add(cause);
        final Set<String> registered = Set.copyOf(providers.keySet());
        SharedAllocators.close(shared.unreleased(), failures);
        instances.returnAgain(provider -> true, failures);
        closeAll(failures);
        candidates.stream()
                .filter(candidate -> !registered.contains(candidate.name()))
                .forEach(candidate -> failures.run(candidate::close));
    }

    /**
     * Closes a provider and removes it. It may not be used meanwhile, so a call-back of it finds it gone. If anything
     * fails it stays registered. Returns whether it was closed.
     *
     * @param release releases what the environment has of the provider
     */
    boolean close(RegisteredProvider provider, Runnable release, Failures failures) {
        boolean isClosed = false;
        provider.isOpen(false);
        try {
            release.run();
            provider.closeStreams(failures);
            provider.close();
            providers.remove(provider.name());
            isClosed = true;
        } catch (Throwable e) {
            failures.add(e);
        } finally {
            provider.isOpen(!isClosed);
        }
        return isClosed;
    }

    /** Closes all providers, last one first, and removes those that were closed. A further call does the others. */
    void closeAll(Failures failures) {
        new ArrayList<>(providers.values()).reversed().forEach(provider -> close(provider, () -> {}, failures));
        unclosed.removeIf(factory -> {
            try {
                factory.close();
                return true;
            } catch (Throwable e) {
                Log.failed("close", factory.getClass().getName(), e);
                return false;
            }
        });
    }

    /** Describes each setting of the environment that belongs to no registered provider, and each name of one. */
    List<String> unusedSettings() {
        return unusedSettings(providers.keySet());
    }

    private List<String> unusedSettings(Set<String> registered) {
        final Stream<String> names = order.named().stream()
                .filter(name -> !registered.contains(name))
                .map(name -> "no registered provider is named " + name + ", as " + ProviderOrder.KEY + " does");
        final Stream<String> devices = settings.keySet().stream()
                .filter(key -> DeviceLimits.isKey(key) && !isOfADevice(key))
                .map(key -> "no registered provider has the device of " + key + "; there are " + devices());
        final Stream<String> keys = settings.keySet().stream()
                .filter(key -> !DeviceLimits.isKey(key))
                .filter(key ->
                        registered.stream().noneMatch(name -> key.startsWith(OptionPlace.ENVIRONMENT.prefix(name))))
                .map(key -> "no registered provider has it: "
                        + InvalidOptionException.unknownKey(
                                        key,
                                        settings.getOrDefault(key, ""),
                                        OptionPlace.ENVIRONMENT.origin(),
                                        keys(OptionPlace.ENVIRONMENT))
                                .getMessage());
        return Stream.of(names, devices, keys).flatMap(lines -> lines).toList();
    }

    private boolean isOfADevice(String key) {
        return devices().stream()
                .flatMap(device -> device.device().defaultMemory().stream())
                .anyMatch(memory -> DeviceLimits.isOf(memory, key));
    }

    /** Returns all keys of all providers as they are given at some place. */
    private List<String> keys(OptionPlace place) {
        return providers.values().stream()
                .flatMap(provider -> provider.keys().stream().map(key -> place.prefix(provider.name()) + key.name()))
                .toList();
    }

    /**
     * What a session's settings are for.
     *
     * @param device such as {@code gpu:1}; empty for all devices of the provider
     */
    record Scope(String provider, String device) {
        boolean covers(ProviderDevice candidate) {
            return provider.equals(candidate.provider()) && (device.isEmpty() || device.equals(candidate.id()));
        }

        @Override
        public String toString() {
            return "device " + (device.isEmpty() ? "" : device + " ") + "of " + provider;
        }
    }

    /**
     * Returns a session's own settings: those for all devices of a provider before those for one, which override them.
     *
     * @throws InvalidOptionException if one is not understood, or belongs to no registered provider, or to none of its
     *     devices
     */
    Map<Scope, AllocatorOptions> sessionSettings(Map<String, String> given) {
        final Map<Scope, AllocatorOptions> own = new LinkedHashMap<>();
        final Set<String> unclaimed = new TreeSet<>(given.keySet());
        unclaimed.removeIf(key -> !OptionPlace.SESSION.isOfProvider(key));
        for (final RegisteredProvider provider : providers.values()) {
            final String prefix = OptionPlace.SESSION.prefix(provider.name());
            final Set<String> devices = new LinkedHashSet<>();
            devices.add("");
            devicesOf(provider).map(ProviderDevice::id).forEach(devices::add);
            given.keySet().stream().filter(key -> key.startsWith(prefix)).forEach(key -> {
                unclaimed.remove(key);
                if (!devices.contains(OptionPlace.SESSION.device(key, provider.name()))) {
                    throw new InvalidOptionException(
                            key,
                            given.getOrDefault(key, ""),
                            "for a device that " + provider.name() + " has; it has " + describeDevices(provider),
                            OptionPlace.SESSION.origin());
                }
            });
            devices.forEach(device -> own.put(
                    new Scope(provider.name(), device),
                    OptionPlace.SESSION.select(given, provider.name(), device, provider.keys())));
        }
        for (final String key : unclaimed) {
            throw InvalidOptionException.unknownKey(
                    key, given.getOrDefault(key, ""), OptionPlace.SESSION.origin(), keys(OptionPlace.SESSION));
        }
        return own;
    }

    /** Describes the providers, for a message about a provider or device that is missing. */
    String describe() {
        if (providers.isEmpty() && failures.isEmpty()) {
            return "no provider was found: "
                    + (searched.isEmpty()
                            ? "no place was searched and none was registered; register one, or "
                            : "searched " + String.join(", ", searched) + "; ")
                    + ADVICE;
        }
        final List<String> parts = new ArrayList<>();
        if (!providers.isEmpty()) {
            parts.add("the providers are: "
                    + providers.values().stream()
                            .map(provider -> provider.name() + " ("
                                    + (provider.isOpen() ? describeDevices(provider) : "not in use yet, or no more")
                                    + ")")
                            .collect(Collectors.joining(", ")));
        }
        if (!failures.isEmpty()) {
            parts.add("not used: "
                    + failures.stream()
                            .map(report ->
                                    report.name() + " (" + report.failure().orElse("") + ")")
                            .collect(Collectors.joining(", ")));
        }
        return String.join("; ", parts);
    }

    /** Describes the devices of a provider, such as {@code gpu:0, gpu:1}. */
    static String describeDevices(RegisteredProvider provider) {
        if (provider.devices().isEmpty()) {
            return "no device: " + String.join(", ", provider.report().notes());
        }
        return devicesOf(provider).map(ProviderDevice::id).collect(Collectors.joining(", "));
    }

    private static Stream<ProviderDevice> devicesOf(RegisteredProvider provider) {
        return provider.devices().stream().map(device -> new ProviderDevice(provider.name(), device));
    }
}
