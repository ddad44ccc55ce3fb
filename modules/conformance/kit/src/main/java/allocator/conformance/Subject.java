package allocator.conformance;

import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What one test runs on: a factory of its own, the memory to prove, and what the test takes from them, so that all of
 * it goes back afterwards. Asking for what the provider cannot do skips the test and says so.
 */
final class Subject {
    /** The key that limits an arena; what has it can be tested at its limit. */
    static final String LIMIT = "arena.max_mem";

    /** The keys of an arena's first and largest regions. */
    static final String FIRST_REGION = "arena.initial_chunk_size_bytes";

    static final String LARGEST_REGION = "arena.max_power_of_two_extend_bytes";

    private final Kit kit;
    private final ConformanceSettings settings;
    private final @Nullable MemoryInfo memory;
    private final List<Allocator> references = Collections.synchronizedList(new ArrayList<>());
    private final List<SyncStream> streams = Collections.synchronizedList(new ArrayList<>());
    private @Nullable EpFactory factory;
    private @Nullable DeviceProbe probe;
    private volatile boolean abandoned;

    Subject(Kit kit, ConformanceSettings settings, @Nullable MemoryInfo memory) {
        this.kit = kit;
        this.settings = settings;
        this.memory = memory;
    }

    void open() {
        final EpFactory opened = kit.newFactory();
        factory = opened;
        probe = kit.probe(opened).orElse(null);
        if (memory != null) {
            opened.discoverDevices();
        }
    }

    Kit kit() {
        return kit;
    }

    ConformanceSettings settings() {
        return settings;
    }

    EpFactory factory() {
        if (factory == null) {
            throw new IllegalStateException("the subject is not open");
        }
        return factory;
    }

    MemoryInfo memory() {
        if (memory == null) {
            throw new IllegalStateException("this test has no memory");
        }
        return memory;
    }

    /** All infos that the factory lists. */
    List<MemoryInfo> memories() {
        return factory().discoverDevices().devices().stream()
                .map(EpDevice::memoryInfos)
                .flatMap(List::stream)
                .toList();
    }

    Optional<DeviceProbe> probe() {
        return Optional.ofNullable(probe);
    }

    /** What the device gave and has not got back; what is expected, where nobody knows. */
    long heldByDevice(long expected) {
        return probe == null ? expected : probe.bytesHeld(memory()).orElse(expected);
    }

    DeviceProbe requireProbe() {
        if (probe == null) {
            throw Expect.skip("needs a DeviceProbe, which shows the device beneath the provider");
        }
        return probe;
    }

    /** Random numbers of this test's own: the same in each run with the same seed. */
    SplittableRandom random(String salt) {
        return new SplittableRandom(settings.seed() * 31 + salt.hashCode());
    }

    // Allocators

    Allocator allocator() {
        return allocator(Map.of());
    }

    Allocator allocator(Map<String, String> options) {
        return create(memory(), options);
    }

    Allocator create(MemoryInfo info, Map<String, String> options) {
        final Allocator created = factory().createAllocator(info, AllocatorOptions.of(options, "conformance kit"));
        Expect.that(created != null, "createAllocator returned null; every failure must be an exception");
        references.add(created);
        return created;
    }

    /** An allocator that may hold so many bytes and no more. */
    Allocator limited(long byteSize) {
        requireKey(LIMIT);
        final Allocator allocator = allocator(Map.of(LIMIT, Long.toString(byteSize)));
        final String inForce = allocator.effectiveOptions().value(LIMIT);
        if (inForce == null) {
            throw Expect.skip("%s does not apply to this memory", LIMIT);
        }
        return allocator;
    }

    /** The limit in force, which may be the one asked for, rounded up. */
    long limitOf(Allocator limited) {
        return Long.parseLong(String.valueOf(limited.effectiveOptions().value(LIMIT)));
    }

    void requireKey(String name) {
        if (!hasKey(name)) {
            throw Expect.skip("the provider has no option %s", name);
        }
    }

    boolean hasKey(String name) {
        return factory().optionKeys().stream().map(OptionKey::name).anyMatch(name::equals);
    }

    /** Settings that make an arena take many small regions, as far as the provider has such settings. */
    Map<String, String> manyRegions() {
        return Map.of(FIRST_REGION, "16384", LARGEST_REGION, "65536").entrySet().stream()
                .filter(setting -> hasKey(setting.getKey()))
                .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    /** Gives one reference back, as part of a test. */
    void release(Allocator allocator) {
        synchronized (references) {
            for (int i = references.size() - 1; i >= 0; i--) {
                if (Expect.same(references.get(i), allocator)) {
                    references.remove(i);
                    break;
                }
            }
        }
        factory().releaseAllocator(allocator);
    }

    ShrinkableAllocator shrinkable(Allocator allocator) {
        if (!(allocator instanceof ShrinkableAllocator shrinkable)) {
            throw Expect.skip("the allocator is not a ShrinkableAllocator");
        }
        requireLevel(allocator, SpiLevel.SHRINK, "shrink");
        return shrinkable;
    }

    StreamAwareAllocator streamAware(Allocator allocator) {
        if (!(allocator instanceof StreamAwareAllocator streamAware)) {
            throw Expect.skip("the allocator is not a StreamAwareAllocator");
        }
        requireLevel(allocator, SpiLevel.STREAMS, "streams");
        if (!factory().isStreamAware(memory())) {
            throw Expect.skip("the factory makes no streams for this memory");
        }
        return streamAware;
    }

    /** An allocator of which it is known from outside when freed memory may go to another stream. */
    StreamAwareAllocator orderedByStreams() {
        final StreamAwareAllocator allocator = streamAware(allocator());
        if (!isOrderKnown(allocator)) {
            throw Expect.skip(
                    "the device orders this memory and may know that work is done; a DeviceProbe that lets streams"
                            + " lag would show it");
        }
        return allocator;
    }

    /**
     * For what only an allocator that orders memory itself can keep: a device may let memory lie until it looks again.
     */
    static void requireOwnOrder(StreamAwareAllocator allocator) {
        if (allocator.isOrderedByDevice()) {
            throw Expect.skip("the device orders this memory, and may let it lie for a while");
        }
    }

    /**
     * Whether streams alone say when freed memory may go to another one; a lagging device knows no more than they do.
     */
    boolean isOrderKnown(Allocator allocator) {
        return probe != null
                || !(allocator instanceof StreamAwareAllocator streamAware)
                || !streamAware.isOrderedByDevice();
    }

    void requireReserve(Allocator allocator) {
        requireLevel(allocator, SpiLevel.RESERVE, "reserve");
    }

    private static void requireLevel(Allocator allocator, int level, String what) {
        if (allocator.spiLevel() < level) {
            throw Expect.skip(
                    "the allocator is of level %d; %s is used from level %d on", allocator.spiLevel(), what, level);
        }
    }

    /** Whether the allocator counts what is in use; if not, its statistics say nothing. */
    boolean counts(Allocator allocator) {
        if (allocator.spiLevel() < SpiLevel.STATISTICS) {
            return false;
        }
        final long address = allocator.alloc(1);
        final boolean counts = allocator.stats().bytesInUse() > 0;
        allocator.free(address);
        return counts;
    }

    AllocatorStats stats(Allocator allocator) {
        if (!counts(allocator)) {
            throw Expect.skip("the allocator keeps no statistics");
        }
        return allocator.stats();
    }

    /** Whether the allocator suballocates regions, which further rules bind. */
    boolean isArena(Allocator allocator) {
        if (!(allocator instanceof ShrinkableAllocator) || !counts(allocator)) {
            return false;
        }
        final long address = allocator.alloc(1);
        final boolean isArena = allocator.stats().numArenaExtensions() > 0;
        allocator.free(address);
        return isArena;
    }

    void requireArena(Allocator allocator) {
        if (!isArena(allocator)) {
            throw Expect.skip("the allocator counts no regions, so it is no arena");
        }
    }

    // Streams

    SyncStream stream() {
        final SyncStream stream = factory().createSyncStream(memory());
        Expect.that(stream != null, "createSyncStream returned null; every failure must be an exception");
        streams.add(stream);
        return stream;
    }

    Contents contents(Allocator allocator) {
        return Contents.of(this, allocator)
                .orElseThrow(
                        () -> Expect.skip(
                                "the host neither reaches the memory nor has a DataTransfer for it, so its bytes are not seen"));
    }

    // The end

    /** Leaves everything as it is: a thread that hangs may still use it. */
    void abandon() {
        abandoned = true;
    }

    /** Gives everything back, and tells what could not be, or was left. */
    List<Ledger.Finding> close(String test) {
        final List<Ledger.Finding> findings = new ArrayList<>();
        if (abandoned || factory == null) {
            return findings;
        }
        if (probe != null) {
            probe.failCall(0);
            probe.lag(false);
        }
        final Set<Allocator> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (final Allocator allocator : references) {
            if (seen.add(allocator) && allocator.spiLevel() >= SpiLevel.STATISTICS) {
                inUse(allocator).ifPresent(fault -> findings.add(new Ledger.Finding("S-04", test, fault)));
            }
        }
        for (final Allocator allocator : references) {
            attempt(findings, "F-04", test, "releaseAllocator", () -> {
                factory().releaseAllocator(allocator);
                return null;
            });
        }
        for (final SyncStream stream : streams) {
            attempt(findings, "T-05", test, "close of " + stream, () -> {
                stream.close();
                return null;
            });
        }
        if (probe != null && memory != null) {
            final DeviceProbe device = probe;
            attempt(findings, "F-04", test, "probe", () -> {
                final long held = heldByDevice(0);
                if (held != 0) {
                    findings.add(new Ledger.Finding(
                            "F-04", test, held + " bytes are still taken from the device after the last release"));
                }
                device.faults()
                        .forEach(fault -> findings.add(new Ledger.Finding("K-03", test, "the device saw " + fault)));
                return null;
            });
        }
        attempt(findings, "F-09", test, "close of the factory, with everything given back,", () -> {
            factory().close();
            return null;
        });
        if (probe != null) {
            final DeviceProbe device = probe;
            attempt(findings, "F-04", test, "probe", () -> {
                device.leaks().forEach(leak -> findings.add(new Ledger.Finding("F-04", test, "left behind: " + leak)));
                return null;
            });
        }
        return findings;
    }

    /** What statistics say to be in use, with everything freed; a failure to tell belongs to other tests. */
    private static Optional<String> inUse(Allocator allocator) {
        final AllocatorStats stats;
        try {
            stats = allocator.stats();
        } catch (RuntimeException e) {
            return Optional.empty();
        }
        return stats.bytesInUse() == 0 && stats.requestedBytesInUse() == 0
                ? Optional.empty()
                : Optional.of("everything is freed, yet bytesInUse is %d and requestedBytesInUse %d"
                        .formatted(stats.bytesInUse(), stats.requestedBytesInUse()));
    }

    private static void attempt(
            List<Ledger.Finding> findings, String rule, String test, String what, Callable<@Nullable Void> step) {
        try {
            step.call();
        } catch (Exception | Error failure) {
            findings.add(new Ledger.Finding(rule, test, what + " threw " + Expect.describe(failure)));
        }
    }
}
