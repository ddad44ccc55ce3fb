package allocator.runtime;

import allocator.provider.support.Limit;
import allocator.provider.support.internal.Failures;
import allocator.runtime.discovery.LoadedFactory;
import allocator.runtime.discovery.Log;
import allocator.runtime.lifetime.AllocatorInstances;
import allocator.runtime.lifetime.AllocatorReference;
import allocator.runtime.options.OptionPlace;
import allocator.runtime.transfer.ProviderTransfer;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorType;
import allocator.spi.DataTransfer;
import allocator.spi.DeviceDiscovery;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryRange;
import allocator.spi.OptionKey;
import allocator.spi.SessionAwareFactory;
import allocator.spi.SpiLevel;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A factory whose results were checked. All calls of the factory go through this class, which names the provider if it
 * breaks the contract.
 */
final class RegisteredProvider {
    /**
     * A factory that has reported its name and priority, and nothing else yet.
     *
     * @param loaded the factory and where it was found
     * @param name its name
     * @param priority its priority
     */
    record Candidate(LoadedFactory loaded, String name, int priority) {
        /**
         * Reads the name and the priority of a factory.
         *
         * @throws ProviderException if the name cannot be part of option keys
         */
        static Candidate of(LoadedFactory loaded) {
            final String className = loaded.className();
            final String name = ProviderCalls.read(className, "name", loaded.factory()::name);
            if (name.isEmpty() || name.chars().anyMatch(Character::isWhitespace)) {
                throw new ProviderException(
                        className, "is named '" + name + "': a name has no blanks and is not empty", null);
            }
            return new Candidate(loaded, name, ProviderCalls.read(className, "priority", loaded.factory()::priority));
        }

        /** Returns what distinguishes providers: session keys use the name in lower case. */
        String identity() {
            return name.toLowerCase(Locale.ROOT);
        }

        void close() {
            ProviderCalls.run(name, "close", loaded.factory()::close);
        }

        ProviderReport failed(String reason) {
            return ProviderReport.failed(name, loaded.module(), loaded.origin(), reason);
        }
    }

    private final Candidate candidate;
    private final EpFactory factory;
    private final AllocatorInstances instances;
    private final String vendor;
    private final String version;
    private final List<EpDevice> devices;
    private final List<String> notes;
    private final List<OptionKey<?>> keys;
    private final AllocatorOptions options;
    private final Object unclosedLock = new Object();
    private boolean isOpen;

    /** The streams that may not be closed, although their sessions have no more use of them, linked. */
    private SessionStreams.@Nullable Place unclosed;

    /**
     * Reads and checks the properties of a factory.
     *
     * @param environmentSettings the settings that the environment's builder was given
     * @throws ProviderException if a result breaks the contract
     * @throws allocator.spi.InvalidOptionException if a setting for this provider is not understood
     */
    RegisteredProvider(Candidate candidate, AllocatorInstances instances, Map<String, String> environmentSettings) {
        this.candidate = candidate;
        this.instances = instances;
        factory = candidate.loaded().factory();
        vendor = ProviderCalls.read(name(), "vendor", factory::vendor);
        version = ProviderCalls.read(name(), "version", factory::version);
        keys = ProviderCalls.read(name(), "optionKeys", () -> List.<OptionKey<?>>copyOf(factory.optionKeys()));
        requireDistinctKeys();
        options = OptionPlace.ENVIRONMENT.select(environmentSettings, name(), keys);
        final DeviceDiscovery discovery = ProviderCalls.read(name(), "discoverDevices", factory::discoverDevices);
        devices = discovery.devices();
        notes = new ArrayList<>(discovery.notes());
        requireDistinctMemories();
    }

    /**
     * Requires that no option key could mean both this provider and another.
     *
     * @throws IllegalStateException if one could
     */
    void requireDistinctFrom(Candidate other) {
        if (name().equals(other.name())) {
            throw new IllegalStateException("EP library is already registered under " + name() + " (from "
                    + candidate.loaded().origin() + ")");
        }
        final String mine = OptionPlace.SESSION.prefix(name());
        final String others = OptionPlace.SESSION.prefix(other.name());
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

    int priority() {
        return candidate.priority();
    }

    /**
     * Returns whether sessions and allocators may be made: once it is registered, and until it is being closed. A
     * provider may call the environment while either is under way.
     */
    boolean isOpen() {
        return isOpen;
    }

    void isOpen(boolean now) {
        isOpen = now;
    }

    List<EpDevice> devices() {
        return devices;
    }

    List<OptionKey<?>> keys() {
        return keys;
    }

    /** Returns the environment's settings for this provider. */
    AllocatorOptions options() {
        return options;
    }

    boolean knows(OptionKey<?> key) {
        return keys.stream().anyMatch(known -> known.name().equals(key.name()));
    }

    /** Returns whether {@code arena.max_mem} is a limit among some settings; it is none if it is 0. */
    boolean isLimited(AllocatorOptions wanted) {
        return keys.stream()
                .filter(key -> key.name().equals(Limit.KEY.name()))
                .anyMatch(key -> !text(key, wanted).equals(text(Limit.KEY, AllocatorOptions.EMPTY)));
    }

    private static <T> String text(OptionKey<T> key, AllocatorOptions wanted) {
        return key.format(wanted.get(key));
    }

    void addNote(String note) {
        notes.add(note);
        Log.debug(name() + ": " + note);
    }

    ProviderReport report() {
        return new ProviderReport(
                name(),
                vendor,
                version,
                candidate.priority(),
                candidate.loaded().module(),
                candidate.loaded().origin(),
                devices,
                notes,
                Optional.empty());
    }

    /** Returns the options with {@link OptionKey#EXCLUSIVE} set, where the provider has the key and it is not set. */
    AllocatorOptions exclusive(AllocatorOptions wanted) {
        return knows(OptionKey.EXCLUSIVE) && wanted.value(OptionKey.EXCLUSIVE.name()) == null
                ? wanted.with(OptionKey.EXCLUSIVE.name(), OptionKey.EXCLUSIVE.format(true), OptionPlace.RUNTIME)
                : wanted;
    }

    boolean isExclusive(AllocatorOptions wanted) {
        return knows(OptionKey.EXCLUSIVE) && wanted.get(OptionKey.EXCLUSIVE);
    }

    /** Creates an allocator of the environment as {@link #create(String, MemoryInfo, AllocatorOptions, Supplier)}. */
    AllocatorReference create(MemoryInfo info, AllocatorOptions wanted) {
        return create("createAllocator", info, wanted, () -> factory.createAllocator(info, wanted));
    }

    /** Creates an allocator of a session, whose name a provider learns that asks for it. */
    AllocatorReference createFor(String session, MemoryInfo info, AllocatorOptions wanted) {
        return factory instanceof SessionAwareFactory aware
                ? create(
                        "createSessionAllocator",
                        info,
                        wanted,
                        () -> aware.createSessionAllocator(info, wanted, session))
                : create(info, wanted);
    }

    /** Creates an allocator and checks it; returns it to the provider at once if it breaks the contract. */
    private AllocatorReference create(
            String method, MemoryInfo info, AllocatorOptions wanted, Supplier<Allocator> creation) {
        final String operation = method + "(" + info + ")";
        final AllocatorReference reference = new AllocatorReference(
                instances, name(), keys, () -> ProviderCalls.call(name(), operation, creation), this::giveBack);
        try {
            requireAsRequested(reference.allocator(), info, operation);
            if (isExclusive(wanted) && instances.references(reference.instance()) > 1) {
                throw new ProviderException(
                        name(),
                        "returned an instance that is in use from " + operation + ", although "
                                + OptionKey.EXCLUSIVE.name() + "=1 requests one of its own",
                        null);
            }
        } catch (Throwable e) {
            reference.releaseAfter(e);
            throw e;
        }
        return reference;
    }

    private void requireAsRequested(Allocator allocator, MemoryInfo requested, String operation) {
        final MemoryInfo info = ProviderCalls.call(name(), "the allocator's info", allocator::info);
        if (info.allocatorType() == AllocatorType.ARENA) {
            throw new ProviderException(
                    name(),
                    "returned an allocator of the type ARENA from " + operation
                            + "; it is reserved for the runtime, keep the arena inside an allocator of the type DEVICE",
                    null);
        }
        if (!info.equals(requested)) {
            throw new ProviderException(
                    name(),
                    "returned an allocator of other memory from " + operation + ": " + differences(requested, info),
                    null);
        }
        final int level = ProviderCalls.call(name(), "the allocator's spiLevel", allocator::spiLevel);
        if (level < SpiLevel.MINIMUM) {
            throw new ProviderException(
                    name(), "returned an allocator of the SPI level " + level + " from " + operation, null);
        }
    }

    private static String differences(MemoryInfo requested, MemoryInfo returned) {
        final List<String> differences = new ArrayList<>();
        if (!requested.name().equals(returned.name())) {
            differences.add("name " + returned.name() + " instead of " + requested.name());
        }
        if (!requested.location().equals(returned.location())) {
            differences.add("location " + returned.location() + " of vendor "
                    + returned.location().vendorId() + " instead of " + requested.location() + " of vendor "
                    + requested.location().vendorId());
        }
        if (requested.byteAlignment() != returned.byteAlignment()) {
            differences.add("alignment " + returned.byteAlignment() + " instead of " + requested.byteAlignment());
        }
        if (requested.allocatorType() != returned.allocatorType()) {
            differences.add("type " + returned.allocatorType() + " instead of " + requested.allocatorType());
        }
        return String.join(", ", differences);
    }

    private void giveBack(Allocator allocator) {
        ProviderCalls.run(name(), "releaseAllocator", () -> factory.releaseAllocator(allocator));
    }

    boolean hasStreams(MemoryInfo info) {
        return ProviderCalls.call(name(), "isStreamAware", () -> factory.isStreamAware(info));
    }

    SyncStream createStream(MemoryInfo info) {
        return ProviderCalls.call(name(), "createSyncStream(" + info + ")", () -> factory.createSyncStream(info));
    }

    SyncStream viewStream(MemoryInfo info, long handle) {
        try {
            return Objects.requireNonNull(factory.viewSyncStream(info, handle), "viewSyncStream returned null");
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw e; // of a stream that cannot be viewed
        } catch (Throwable e) {
            throw ProviderCalls.translate(name(), "viewSyncStream(" + info + ")", e);
        }
    }

    /** Returns the provider's copies, whose failures name it; empty if it has none. */
    Optional<ProviderTransfer> transfer() {
        return ProviderCalls.call(name(), "dataTransfer", factory::dataTransfer)
                .map(transfer -> new ProviderTransfer(name(), new CheckedTransfer(name(), transfer), this::hasMemory));
    }

    private boolean hasMemory(MemoryInfo memory) {
        return devices.stream().flatMap(device -> device.memoryInfos().stream()).anyMatch(memory::isSameMemoryAs);
    }

    private record CheckedTransfer(String provider, DataTransfer transfer) implements DataTransfer {
        @Override
        public boolean canCopy(MemoryInfo source, MemoryInfo target) {
            return ProviderCalls.call(provider, "canCopy", () -> transfer.canCopy(source, target));
        }

        @Override
        public void copy(MemoryRange source, MemoryRange target, @Nullable SyncStream stream) {
            try {
                transfer.copy(source, target, stream);
            } catch (IllegalArgumentException | IllegalStateException e) {
                throw e; // of a stream that does not fit, or is closed
            } catch (Throwable e) {
                throw ProviderCalls.translate(provider, "copy", e);
            }
        }
    }

    /**
     * Closes a stream. If that fails, the stream may not be closed, or, after a {@link DeviceException}, its work may
     * not be done: {@link #closeStreams} closes it again.
     */
    void closeStream(SessionStreams.Place place) {
        boolean isClosed = false;
        try {
            final SyncStream stream = place.stream();
            ProviderCalls.run(name(), "close of " + stream, stream::close);
            place.ended();
            isClosed = true;
        } finally {
            if (!isClosed) {
                synchronized (unclosedLock) {
                    place.next = unclosed;
                    unclosed = place;
                }
            }
        }
    }

    /** Tries again to close the streams whose close failed. */
    void closeStreams(Failures failures) {
        SessionStreams.Place next;
        synchronized (unclosedLock) {
            next = unclosed;
            unclosed = null;
        }
        while (next != null) {
            final SessionStreams.Place place = next;
            next = place.next;
            try {
                closeStream(place);
            } catch (Throwable e) {
                failures.add(e);
            }
        }
    }

    void close() {
        candidate.close();
    }
}
