package allocator.conformance.subject;

import allocator.conformance.ConformanceSettings;
import allocator.conformance.DeviceProbe;
import allocator.conformance.subject.CleanupFindings.Finding;
import allocator.spi.Allocator;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.DeviceException;
import allocator.spi.DeviceType;
import allocator.spi.EpDevice;
import allocator.spi.EpFactory;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The subject of one test: a factory of its own, the memory to prove, and the allocators and streams that the test
 * creates, so that all of them are released afterwards. A request for a capability that the provider lacks skips the
 * test, with the reason.
 */
// One class, since every test asks one object for what it needs of the provider.
public final class Subject {
    /** The key that limits an arena. An allocator that has it is also tested at its limit. */
    public static final String LIMIT = "arena.max_mem";

    /** The key for the size of an arena's first region. */
    public static final String FIRST_REGION = "arena.initial_chunk_size_bytes";

    /** The key for what may be left over of a chunk that is not split. */
    public static final String DEAD_BYTES = "arena.max_dead_bytes_per_chunk";

    /** The key for the size up to which an arena doubles its regions. */
    public static final String LARGEST_REGION = "arena.max_power_of_two_extend_bytes";

    private final ProviderFixture fixture;
    private final ConformanceSettings settings;
    private final @Nullable MemoryInfo memory;
    private final List<Allocator> references = Collections.synchronizedList(new ArrayList<>());
    private final List<SyncStream> streams = Collections.synchronizedList(new ArrayList<>());
    private @Nullable EpFactory factory;
    private @Nullable DeviceProbe probe;
    private volatile @Nullable Cleanup running;
    private volatile boolean abandoned;
    private volatile long opened;

    /**
     * Creates a subject, which has no factory until it is opened.
     *
     * @param memory the memory to prove, or {@code null} for a test of the factory itself
     */
    public Subject(ProviderFixture fixture, ConformanceSettings settings, @Nullable MemoryInfo memory) {
        this.fixture = fixture;
        this.settings = settings;
        this.memory = memory;
    }

    /** Creates the factory and its probe. May be called again after {@link #close}. */
    public void open() {
        opened = System.nanoTime();
        references.clear();
        streams.clear();
        final EpFactory made = fixture.newFactory();
        factory = made;
        probe = fixture.probe(made).orElse(null);
        if (memory != null) {
            made.discoverDevices();
        }
    }

    /** Abandons everything that was created, because a hanging thread may still use it. */
    public void abandon() {
        abandoned = true;
    }

    /** Returns whether statistics are the same, apart from free memory that went back by itself (S-01). */
    public boolean isSame(AllocatorStats before, AllocatorStats now) {
        return StatisticsCheck.isSameButForReturns(before, now);
    }

    /**
     * Fails if the statistics are not the {@linkplain #isSame same}.
     *
     * @param fault what changed them; the failure goes on with the fields that changed
     */
    public void requireSame(AllocatorStats before, AllocatorStats now, String fault) {
        Expect.that(isSame(before, now), "%s: %s", fault, StatisticsCheck.changes(before, now));
    }

    /** Returns whether so much went back, or more, as free memory may go back by itself. */
    public boolean isReturned(long expected, long returned) {
        return returned >= expected;
    }

    /** Releases everything that was created, closes the factory, and returns the faults found on the way. */
    public List<Finding> close(String test) {
        if (abandoned || factory == null) {
            return List.of();
        }
        final Cleanup cleanup = new Cleanup(factory, probe, test);
        running = cleanup;
        cleanup.release(references);
        cleanup.close(streams);
        if (memory != null) {
            cleanup.checkDevice(this::probedBytesHeld);
        }
        return cleanup.closeFactory();
    }

    /** Returns the finding that {@link #close} did not return, which names the step and its rule. */
    public Finding hangOfClose(String test, String message) {
        final Cleanup cleanup = running;
        return cleanup == null ? new Finding("C-02", test, "cleanup " + message) : cleanup.hang(message);
    }

    public ProviderFixture fixture() {
        return fixture;
    }

    public ConformanceSettings settings() {
        return settings;
    }

    /** Returns a number of repetitions: {@code full}, or {@code few} in a quick run. */
    public int times(int full, int few) {
        return settings.quick() ? few : full;
    }

    /**
     * Returns how many small blocks a test may have live: {@code wanted}, or fewer where the alignment is so large that
     * they would not fit the smallest device that the kit expects.
     */
    public int mostLive(int wanted) {
        return (int) Math.max(1, Math.min(wanted, Room.EXPECTED / 2 / memory().byteAlignment()));
    }

    /** Returns whether a test may repeat itself further: a device may be so slow that all repetitions take too long. */
    public boolean hasTime() {
        return System.nanoTime() - opened < TimeUnit.NANOSECONDS.convert(settings.timeLimit()) / 3;
    }

    /** Returns the random numbers of a test, the same in each run with the same seed. */
    public SplittableRandom random(String salt) {
        return new SplittableRandom(settings.seed() * 31 + salt.hashCode());
    }

    public EpFactory factory() {
        if (factory == null) {
            throw new IllegalStateException("the subject is not open");
        }
        return factory;
    }

    public MemoryInfo memory() {
        if (memory == null) {
            throw new IllegalStateException("this test has no memory");
        }
        return memory;
    }

    /** Returns all infos that the factory lists. */
    public List<MemoryInfo> memories() {
        return factory().discoverDevices().devices().stream()
                .map(EpDevice::memoryInfos)
                .flatMap(List::stream)
                .toList();
    }

    /** Returns an ordinal that no listed memory has. Ordinals may have gaps of any size (F-03). */
    public int absentOrdinal() {
        return IntStream.iterate(4711, ordinal -> ordinal + 1)
                .filter(ordinal ->
                        memories().stream().noneMatch(info -> info.location().deviceOrdinal() == ordinal))
                .findFirst()
                .orElseThrow();
    }

    /** Returns the listed memories other than the subject's that have the room that the kit needs. */
    public List<MemoryInfo> othersWithRoom() {
        return memories().stream()
                .filter(info -> !info.equals(memory()))
                .filter(info -> fixture.obstacle(info, settings).isEmpty())
                .toList();
    }

    public Optional<DeviceProbe> probe() {
        return Optional.ofNullable(probe);
    }

    public DeviceProbe requireProbe() {
        if (probe == null) {
            throw Expect.skip("it needs a DeviceProbe, which shows the device beneath the provider");
        }
        return probe;
    }

    /** Returns the bytes taken from the device and not returned, or {@code expected} if there is no such counter. */
    public long heldByDevice(long expected) {
        return probedBytesHeld().orElse(expected);
    }

    private OptionalLong probedBytesHeld() {
        return probe == null ? OptionalLong.empty() : probe.bytesHeld(memory());
    }

    public Allocator allocator() {
        return allocator(Map.of());
    }

    public Allocator allocator(Map<String, String> options) {
        return create(memory(), options);
    }

    /** Returns an allocator that no other user has, as far as the provider can say so. */
    public Allocator exclusive(Map<String, String> options) {
        if (!hasKey(OptionKey.EXCLUSIVE.name())) {
            return allocator(options);
        }
        final Map<String, String> all = new HashMap<>(options);
        all.put(OptionKey.EXCLUSIVE.name(), "1");
        return allocator(all);
    }

    /**
     * Returns whether a block of so many bytes may be tried: whether the memory can be expected to have it, and pages
     * that are not touched cost nothing there. The attempt may fail nevertheless.
     */
    public boolean mayTry(long byteSize) {
        final MemoryLocation location = memory().location();
        if (probe == null
                && location.memoryType() == MemoryType.HOST_ACCESSIBLE
                && location.deviceType() != DeviceType.CPU) {
            return byteSize <= Room.EXPECTED / 2;
        }
        return byteSize <= Room.EXPECTED / 2 || ProcessMemory.available() / 3 > byteSize;
    }

    /**
     * Returns whether a device may be filled so far by blocks that are not touched: pinned memory, where each byte
     * costs time, up to twice what each memory must have.
     */
    public boolean mayFill(long byteSize) {
        return mayTry(byteSize) || (byteSize <= 2 * Room.EXPECTED && ProcessMemory.available() / 3 > byteSize);
    }

    /** Returns a further factory of the provider, which the caller closes. */
    public EpFactory newFactory() {
        return fixture.newFactory();
    }

    public Allocator create(MemoryInfo info, Map<String, String> options) {
        final Allocator created = factory().createAllocator(info, AllocatorOptions.of(options, "conformance kit"));
        Expect.that(created != null, "createAllocator returned null; every failure must be an exception");
        references.add(created);
        return created;
    }

    /**
     * Returns an allocator with a limit of so many bytes, rounded up as the provider does; more where the alignment is
     * large, so that a sixteenth of the limit is a multiple of it.
     */
    public Allocator limited(long byteSize) {
        requireKey(LIMIT);
        final long limit = Math.max(byteSize, smallestLimit());
        final Allocator allocator = allocator(Map.of(LIMIT, Long.toString(limit)));
        if (allocator.effectiveOptions().value(LIMIT) == null) {
            throw Expect.skip("%s does not apply to this memory", LIMIT);
        }
        return allocator;
    }

    /** Returns the smallest limit with which the kit tests the memory: sixteen blocks of its alignment. */
    public long smallestLimit() {
        return 16 * memory().byteAlignment();
    }

    /** Returns the effective limit of an allocator, which may be larger than the requested one. */
    public long limitOf(Allocator limited) {
        return Long.parseLong(String.valueOf(limited.effectiveOptions().value(LIMIT)));
    }

    /**
     * Returns the largest request that a limit has room for while nothing is live: the limit less what the allocator
     * adds to such a block, such as a header.
     */
    public long largestOf(Allocator limited) {
        return limitOf(limited) - padding(limitOf(limited) / 16, allocator -> allocator::alloc);
    }

    /** Returns the largest reserve that a limit has room for while nothing is live. */
    public long largestReserveOf(Allocator limited) {
        return limitOf(limited) - padding(limitOf(limited) / 16, allocator -> allocator::reserve);
    }

    /**
     * Returns the size of which a limit has room for so many: blocks of one or several of them, with what the allocator
     * adds to each.
     */
    public long partOf(Allocator limited, int parts) {
        final long part = limitOf(limited) / parts;
        return part - padding(part, allocator -> allocator::alloc);
    }

    /** Returns what a block has in use beyond its size, of an allocator that counts. */
    public long paddingOf(Allocator allocator, LongUnaryOperator call, long byteSize) {
        return Padding.counted(allocator, call, byteSize);
    }

    /** Returns what a block has in use beyond its size, however much; any, if the allocator does not count it. */
    public long largePaddingOf(long byteSize) {
        final Allocator other = exclusive(Map.of());
        final long padding = counts(other) ? Padding.counted(other, other::alloc, byteSize) : Long.MAX_VALUE;
        release(other);
        return padding;
    }

    private long padding(long byteSize, Function<Allocator, LongUnaryOperator> kind) {
        final Allocator other = exclusive(Map.of());
        final long padding = Padding.of(this, other, byteSize, kind);
        release(other);
        return padding;
    }

    /**
     * Returns options that end the growth of an arena at a region of 16 MiB, as far as the provider has the option:
     * regions that go back by themselves are no shrink, so that each further one is twice as large.
     */
    public Map<String, String> boundedGrowth() {
        return hasKey(LARGEST_REGION) ? Map.of(LARGEST_REGION, "16777216") : Map.of();
    }

    /** Returns whether two memories are of one device, which lists both; their locations may differ (F-03). */
    public boolean isSameDevice(MemoryInfo one, MemoryInfo other) {
        return factory().discoverDevices().devices().stream()
                .map(EpDevice::memoryInfos)
                .anyMatch(infos -> infos.contains(one) && infos.contains(other));
    }

    /** Releases one reference, as part of a test. */
    public void release(Allocator allocator) {
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

    public boolean hasKey(String name) {
        return factory().optionKeys().stream().map(OptionKey::name).anyMatch(name::equals);
    }

    public void requireKey(String name) {
        if (!hasKey(name)) {
            throw Expect.skip("the provider has no option %s", name);
        }
    }

    /** Returns options that make an arena take many small regions, as far as the provider has such options. */
    public Map<String, String> manyRegions() {
        return Map.of(FIRST_REGION, "16384", LARGEST_REGION, "65536").entrySet().stream()
                .filter(setting -> hasKey(setting.getKey()))
                .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    /** Skips the test if the allocator follows plans: a reserve comes before its regions, and is in its peaks. */
    public static void requireNoPlans(Allocator allocator) {
        final String plans = allocator.effectiveOptions().value("arena.plan");
        if (plans != null && !plans.isEmpty()) {
            throw Expect.skip("the allocator follows plans, whose memory comes before the others");
        }
    }

    /** Returns the allocator as one that is shrunk, which takes more than its type (L-01), or empty. */
    public static Optional<ShrinkableAllocator> ifShrinkable(Allocator allocator) {
        return allocator.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable
                        && allocator.spiLevel() >= SpiLevel.SHRINK
                ? Optional.of(shrinkable)
                : Optional.empty();
    }

    public ShrinkableAllocator shrinkable(Allocator allocator) {
        if (!(allocator.as(ShrinkableAllocator.class).orElse(null) instanceof ShrinkableAllocator shrinkable)) {
            throw Expect.skip("the allocator is not a ShrinkableAllocator");
        }
        requireLevel(allocator, SpiLevel.SHRINK, "shrink");
        return shrinkable;
    }

    /** Returns an allocator that is shrunk; an exclusive one where an allocator that may be shared is not. */
    public ShrinkableAllocator shrinkable(Map<String, String> options) {
        final Allocator any = allocator(options);
        if (ifShrinkable(any).isPresent()) {
            return shrinkable(any);
        }
        release(any);
        return shrinkable(exclusive(options));
    }

    public void requireReserve(Allocator allocator) {
        requireLevel(allocator, SpiLevel.RESERVE, "reserve");
    }

    /** Returns the allocator; skips the test if it has no statistics, as another of the memory may have (L-01). */
    public Allocator withStatistics(Allocator allocator) {
        requireLevel(allocator, SpiLevel.STATISTICS, "stats");
        return allocator;
    }

    private static void requireLevel(Allocator allocator, int level, String what) {
        if (allocator.spiLevel() < level) {
            throw Expect.skip(
                    "the allocator is of level %d; %s is used from level %d on", allocator.spiLevel(), what, level);
        }
    }

    /** Returns whether the allocator counts what is in use; if not, its statistics mean nothing. */
    public boolean counts(Allocator allocator) {
        if (allocator.spiLevel() < SpiLevel.STATISTICS) {
            return false;
        }
        final long address = allocator.alloc(1);
        final boolean counts = allocator.stats().bytesInUse() > 0;
        allocator.free(address);
        return counts;
    }

    public AllocatorStats stats(Allocator allocator) {
        if (!counts(allocator)) {
            throw Expect.skip("the allocator keeps no statistics");
        }
        return allocator.stats();
    }

    /** Returns whether the allocator counts regions, and so is bound by the rules of arenas, whatever its level. */
    public boolean isArena(Allocator allocator) {
        if (!counts(allocator)) {
            return false;
        }
        final long address = allocator.alloc(1);
        final boolean isArena = allocator.stats().numArenaExtensions() > 0;
        allocator.free(address);
        return isArena;
    }

    public void requireArena(Allocator allocator) {
        if (!isArena(allocator)) {
            throw Expect.skip("the allocator counts no regions, so it is no arena");
        }
    }

    /** Returns a new stream of the memory's device, as {@link #stream(MemoryInfo)}. */
    public SyncStream stream() {
        return stream(memory());
    }

    /** Returns a new stream; skips the test if the device can have none beside those that are open (T-07). */
    public SyncStream stream(MemoryInfo info) {
        return furtherStream(info)
                .orElseThrow(() -> Expect.skip("the device has fewer streams at one time than the test opens"));
    }

    /** Returns a new stream; empty if the device can have none beside those that are open. */
    public Optional<SyncStream> furtherStream(MemoryInfo info) {
        final SyncStream stream;
        try {
            stream = factory().createSyncStream(info);
        } catch (DeviceException e) {
            synchronized (streams) {
                if (streams.stream().allMatch(SyncStream::hasEnded)) {
                    throw Expect.failure("createSyncStream failed with no stream open: " + Expect.describe(e), e);
                }
            }
            return Optional.empty();
        }
        Expect.that(stream != null, "createSyncStream returned null; every failure must be an exception");
        streams.add(stream);
        return Optional.of(stream);
    }

    /** Returns the allocator as one whose streams are used: its level and its factory have them, or empty. */
    public Optional<StreamAwareAllocator> ifStreamAware(Allocator allocator) {
        return allocator.as(StreamAwareAllocator.class).orElse(null) instanceof StreamAwareAllocator streamAware
                        && allocator.spiLevel() >= SpiLevel.STREAMS
                        && factory().isStreamAware(memory())
                ? Optional.of(streamAware)
                : Optional.empty();
    }

    public StreamAwareAllocator streamAware(Allocator allocator) {
        if (!(allocator.as(StreamAwareAllocator.class).orElse(null) instanceof StreamAwareAllocator streamAware)) {
            throw Expect.skip("the allocator is not a StreamAwareAllocator");
        }
        requireLevel(allocator, SpiLevel.STREAMS, "streams");
        if (!factory().isStreamAware(memory())) {
            throw Expect.skip("the factory makes no streams for this memory");
        }
        return streamAware;
    }

    /** Returns an allocator whose reuse of memory across streams can be judged; see {@link #isOrderKnown}. */
    public StreamAwareAllocator orderedByStreams() {
        final StreamAwareAllocator allocator = streamAware(allocator());
        if (!isOrderKnown(allocator)) {
            throw Expect.skip(
                    "the device orders this memory and may know that work is done; a DeviceProbe that lets streams"
                            + " lag would show it");
        }
        return allocator;
    }

    /**
     * Returns whether the waits between streams determine when freed memory may go to another stream. With a probe they
     * do, because a lagging device has completed no more work than the streams have waited for.
     */
    public boolean isOrderKnown(Allocator allocator) {
        return probe != null
                || !(allocator.as(StreamAwareAllocator.class).orElse(null) instanceof StreamAwareAllocator streamAware)
                || !streamAware.isOrderedByDevice();
    }

    /** Skips a test that does not apply to memory ordered by the device, which may return freed memory late. */
    public static void requireOwnOrder(StreamAwareAllocator allocator) {
        if (allocator.isOrderedByDevice()) {
            throw Expect.skip("the device orders this memory, and may make freed memory available later");
        }
    }

    public Contents contents(Allocator allocator) {
        return Contents.of(this, allocator)
                .orElseThrow(
                        () -> Expect.skip("the host cannot access the memory and has no DataTransfer for it, so its "
                                + "contents are unknown"));
    }
}
