package allocator.runtime;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.OptionKey;
import allocator.spi.SpiLevel;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A factory whose answers were checked, and the only way to it: each call names the provider if it breaks the contract.
 */
final class RegisteredProvider {
    private final ProviderCandidate candidate;
    private final AllocatorInstances instances;
    private final String vendor;
    private final String version;
    private final List<EpDevice> devices;
    private final List<String> notes;
    private final List<OptionKey<?>> keys;
    private final AllocatorOptions options;

    /**
     * Asks a factory everything that it must know.
     *
     * @param environmentSettings what the environment's builder was given
     * @throws ProviderException if an answer breaks the contract
     * @throws allocator.spi.InvalidOptionException if a setting for this provider is not understood
     */
    RegisteredProvider(
            ProviderCandidate candidate, AllocatorInstances instances, Map<String, String> environmentSettings) {
        this.candidate = candidate;
        this.instances = instances;
        final EpFactory factory = candidate.factory();
        vendor = ProviderCalls.call(name(), "vendor", factory::vendor);
        version = ProviderCalls.call(name(), "version", factory::version);
        keys = ProviderCalls.call(name(), "optionKeys", () -> List.<OptionKey<?>>copyOf(factory.optionKeys()));
        requireDistinctKeys();
        options = Settings.select(environmentSettings, environmentPrefix(name()), keys, Settings.ENVIRONMENT);
        final DeviceDiscovery discovery = ProviderCalls.call(name(), "discoverDevices", factory::discoverDevices);
        devices = discovery.devices();
        notes = new ArrayList<>(discovery.notes());
        requireDistinctMemories();
    }

    /** How the provider's keys begin in the environment's settings. */
    static String environmentPrefix(String provider) {
        return "ep_factory." + provider + ".";
    }

    /** How the provider's keys begin in a session's settings. */
    static String sessionPrefix(String provider) {
        return "ep." + provider.toLowerCase(Locale.ROOT) + ".";
    }

    /**
     * Requires that no option key could mean both this provider and another.
     *
     * @throws IllegalStateException if one could
     */
    void requireDistinctFrom(ProviderCandidate other) {
        if (name().equals(other.name())) {
            throw new IllegalStateException("EP library is already registered under " + name());
        }
        final String mine = sessionPrefix(name());
        final String others = sessionPrefix(other.name());
        if (mine.startsWith(others) || others.startsWith(mine)) {
            throw new IllegalStateException("provider " + other.name() + " cannot be registered beside " + name()
                    + ": option keys that begin with " + (mine.length() < others.length() ? mine : others)
                    + " could mean either");
        }
    }

    private void requireDistinctKeys() {
        final Set<String> seen = new HashSet<>();
        for (final OptionKey<?> key : keys) {
            if (!seen.add(key.name())) {
                throw new ProviderException(name(), "lists the option key " + key.name() + " twice", null);
            }
        }
    }

    private void requireDistinctMemories() {
        record Slot(MemoryLocation location, boolean isReadOnly) {}
        final Set<Slot> seen = new HashSet<>();
        for (final EpDevice device : devices) {
            for (final MemoryInfo info : device.memoryInfos()) {
                if (!seen.add(new Slot(info.location(), info.isReadOnly()))) {
                    throw new ProviderException(name(), "lists " + info + " twice", null);
                }
            }
        }
    }

    String name() {
        return candidate.name();
    }

    List<EpDevice> devices() {
        return devices;
    }

    List<OptionKey<?>> keys() {
        return keys;
    }

    /** The environment's settings for this provider. */
    AllocatorOptions options() {
        return options;
    }

    boolean knows(OptionKey<?> key) {
        return keys.stream().anyMatch(known -> known.name().equals(key.name()));
    }

    void addNote(String note) {
        notes.add(note);
        Log.info(name() + ": " + note);
    }

    ProviderReport report() {
        return new ProviderReport(
                name(), vendor, version, candidate.module(), candidate.origin(), devices, notes, Optional.empty());
    }

    /**
     * These options, with an instance of its own asked for where the provider understands that and nobody has decided.
     */
    AllocatorOptions exclusive(AllocatorOptions wanted) {
        return knows(OptionKey.EXCLUSIVE) && wanted.value(OptionKey.EXCLUSIVE.name()) == null
                ? wanted.with(OptionKey.EXCLUSIVE.name(), OptionKey.EXCLUSIVE.format(true), Settings.RUNTIME)
                : wanted;
    }

    boolean isExclusive(AllocatorOptions wanted) {
        return knows(OptionKey.EXCLUSIVE) && wanted.get(OptionKey.EXCLUSIVE);
    }

    /** Creates an allocator and checks it; one that breaks the contract goes back at once. */
    AllocatorReference create(MemoryInfo info, AllocatorOptions wanted) {
        final String operation = "createAllocator(" + info + ")";
        final Allocator allocator =
                ProviderCalls.call(name(), operation, () -> candidate.factory().createAllocator(info, wanted));
        final AllocatorInstances.Instance instance = instances.acquire(allocator);
        try {
            requireAsAsked(allocator, info, operation);
            if (isExclusive(wanted) && instances.references(instance) > 1) {
                throw new ProviderException(
                        name(),
                        "returned an instance that is in use from " + operation + ", although "
                                + OptionKey.EXCLUSIVE.name() + "=1 asked for one of its own",
                        null);
            }
        } catch (RuntimeException e) {
            try {
                giveBack(allocator);
            } catch (RuntimeException again) {
                e.addSuppressed(again);
            }
            throw e;
        }
        return new AllocatorReference(allocator, name(), keys, instance, () -> giveBack(allocator));
    }

    private void requireAsAsked(Allocator allocator, MemoryInfo asked, String operation) {
        final MemoryInfo info = ProviderCalls.call(name(), "the allocator's info", allocator::info);
        if (info.allocatorType() == AllocatorType.ARENA) {
            throw new ProviderException(
                    name(),
                    "returned an allocator of the type ARENA from " + operation
                            + "; it is reserved for the runtime, keep the arena inside an allocator of the type DEVICE",
                    null);
        }
        if (!info.equals(asked)) {
            throw new ProviderException(
                    name(),
                    "returned an allocator of other memory from " + operation + ": " + differences(asked, info),
                    null);
        }
        final int level = ProviderCalls.call(name(), "the allocator's spiLevel", allocator::spiLevel);
        if (level < SpiLevel.MINIMUM) {
            throw new ProviderException(
                    name(), "returned an allocator of the SPI level " + level + " from " + operation, null);
        }
    }

    private static String differences(MemoryInfo asked, MemoryInfo got) {
        final List<String> differences = new ArrayList<>();
        if (!asked.name().equals(got.name())) {
            differences.add("name " + got.name() + " instead of " + asked.name());
        }
        if (!asked.location().equals(got.location())) {
            differences.add("location " + got.location() + " of vendor "
                    + got.location().vendorId() + " instead of " + asked.location() + " of vendor "
                    + asked.location().vendorId());
        }
        if (asked.byteAlignment() != got.byteAlignment()) {
            differences.add("alignment " + got.byteAlignment() + " instead of " + asked.byteAlignment());
        }
        if (asked.allocatorType() != got.allocatorType()) {
            differences.add("type " + got.allocatorType() + " instead of " + asked.allocatorType());
        }
        return String.join(", ", differences);
    }

    private void giveBack(Allocator allocator) {
        try {
            ProviderCalls.run(
                    name(), "releaseAllocator", () -> candidate.factory().releaseAllocator(allocator));
        } finally {
            instances.drop(allocator);
        }
    }

    boolean hasStreams(MemoryInfo info) {
        return ProviderCalls.call(
                name(), "isStreamAware", () -> candidate.factory().isStreamAware(info));
    }

    SyncStream createStream(MemoryInfo info) {
        return ProviderCalls.call(
                name(),
                "createSyncStream(" + info + ")",
                () -> candidate.factory().createSyncStream(info));
    }

    void close() {
        ProviderCalls.run(name(), "close", candidate.factory()::close);
    }
}
