package allocator.conformance.rules.regions;

import allocator.conformance.DeviceProbe;
import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorOptions;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidOptionException;
import allocator.spi.MemoryType;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Rule O-07: options named after ONNX Runtime's size and split the regions of an arena as they do there. */
public abstract class ArenaRules extends Chapter {
    private static final String INITIAL = Subject.FIRST_REGION;
    private static final String AFTER_SHRINK = "arena.initial_growth_chunk_size_bytes";
    private static final String LARGEST = Subject.LARGEST_REGION;
    private static final String STRATEGY = "arena.extend_strategy";
    private static final String DEAD = Subject.DEAD_BYTES;

    /** What the sizes of blocks and regions are multiples of. */
    private static final long GRANULE = 256;

    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;

    /** Growth that shows by the size of the next region where it restarted. */
    private static final Map<String, ?> GROWTH =
            Map.of(STRATEGY, 0, INITIAL, 64 * KIB, AFTER_SHRINK, 192 * KIB, LARGEST, 64 * MIB, Subject.LIMIT, 16 * MIB);

    /** Returns an arena with these settings that holds no memory yet; skips the test if one of them does not apply. */
    private static Allocator arena(Subject subject, Map<String, ?> settings) {
        if (subject.memory().byteAlignment() > GRANULE) {
            throw Expect.skip("blocks are padded to their alignment, which is above %d bytes", GRANULE);
        }
        final Map<String, String> options = new HashMap<>();
        settings.forEach((key, value) -> options.put(key, value.toString()));
        options.keySet().forEach(subject::requireKey);
        final Allocator any = subject.allocator();
        subject.requireArena(any);
        requireRoundBlocks(subject, any);
        subject.release(any);
        final Allocator arena = subject.withStatistics(subject.allocator(options));
        final AllocatorOptions effective = arena.effectiveOptions();
        options.keySet().forEach(key -> {
            if (effective.value(key) == null) {
                throw Expect.skip("%s does not apply to this memory", key);
            }
        });
        Subject.requireNoPlans(arena);
        return arena;
    }

    /** Skips the test if each block has a header, for which the sizes of the tests leave no room. */
    private static void requireRoundBlocks(Subject subject, Allocator arena) {
        final long taken = GRANULE + subject.paddingOf(arena, arena::alloc, GRANULE);
        if (taken > GRANULE && taken < 64 * KIB) {
            throw Expect.skip("a block of %d bytes takes %d: it has a header or a larger granule", GRANULE, taken);
        }
    }

    /** Returns the texts of a strategy: its number, and its name where the provider accepts it. */
    private static List<String> strategy(Subject subject, String number, String name) {
        return subject.factory().optionKeys().stream()
                        .anyMatch(key -> key.name().equals(STRATEGY) && isAccepted(key, name))
                ? List.of(number, name)
                : List.of(number);
    }

    private static boolean isAccepted(OptionKey<?> key, String text) {
        try {
            key.parse(text, "conformance kit");
            return true;
        } catch (InvalidOptionException e) {
            return false;
        }
    }

    /** Allocates; fails unless that took exactly one region of the given size, or none if the size is 0. */
    private static long expectRegion(Allocator arena, long byteSize, long region, String why) {
        return expectRegion(arena, arena::alloc, byteSize, region, why);
    }

    /** Allocates by a call; fails unless that took exactly one region of the given size, or none if the size is 0. */
    private static long expectRegion(Allocator arena, LongUnaryOperator call, long byteSize, long region, String why) {
        final AllocatorStats before = arena.stats();
        final long address = call.applyAsLong(byteSize);
        final AllocatorStats after = arena.stats();
        Expect.that(
                after.bytesHeld() - before.bytesHeld() == region
                        && after.numArenaExtensions() - before.numArenaExtensions() == (region == 0 ? 0 : 1),
                "%s: alloc(%d), with %d bytes held, must take a region of %d bytes; bytesHeld rose by %d "
                        + "with %d new regions",
                why,
                byteSize,
                before.bytesHeld(),
                region,
                after.bytesHeld() - before.bytesHeld(),
                after.numArenaExtensions() - before.numArenaExtensions());
        return address;
    }

    @ConformanceTest
    void required_O07_theFirstRegionHasTheInitialSize(Subject subject) {
        for (final long initial : new long[] {4 * KIB, 64 * KIB, 1025 * 256, 3 * MIB}) {
            final Allocator arena = arena(subject, Map.of(INITIAL, initial));
            final String why = "with " + INITIAL + "=" + initial;
            final long first = expectRegion(arena, 1, initial, why);
            final long rest =
                    expectRegion(arena, fitting(subject, initial - 256), 0, why + ", of which 256 bytes are in use");
            arena.free(first);
            arena.free(rest);
            if (arena.stats().bytesHeld() == initial) { // an empty region may go back by itself
                arena.free(expectRegion(arena, fitting(subject, initial), 0, why + ", all of which is free again"));
            }
            subject.release(arena);
        }
    }

    @ConformanceTest
    void required_O07_eachRegionIsTwiceTheOneBefore(Subject subject) {
        for (final String doubling : strategy(subject, "0", "kNextPowerOfTwo")) {
            requireSequence(subject, Map.of(STRATEGY, doubling, INITIAL, 64 * KIB, LARGEST, 512 * KIB), new long[] {
                64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, 512 * KIB
            });
        }
        requireSequence(subject, Map.of(STRATEGY, 0, INITIAL, 64 * KIB, LARGEST, 300 * KIB), new long[] {
            64 * KIB, 128 * KIB, 256 * KIB, 300 * KIB, 300 * KIB
        });
    }

    /** Fills one region after another; fails unless they have the given sizes. */
    private static void requireSequence(Subject subject, Map<String, ?> settings, long[] regions) {
        final Allocator arena = arena(subject, settings);
        final List<Long> live = new ArrayList<>();
        for (final long region : regions) {
            live.add(expectRegion(arena, 32 * KIB, region, "with " + settings));
            if (region > 32 * KIB) {
                live.add(expectRegion(arena, fitting(subject, region - 32 * KIB), 0, "with " + settings));
            }
        }
        live.forEach(arena::free);
        subject.release(arena);
    }

    @ConformanceTest
    void required_O07_aLargeRequestDoublesUntilItFits(Subject subject) {
        final Map<String, ?> settings = Map.of(STRATEGY, 0, INITIAL, 64 * KIB, LARGEST, 64 * MIB);
        final Allocator arena = arena(subject, settings);
        final String why = "with " + settings;
        final List<Long> live = new ArrayList<>();
        live.add(expectRegion(arena, 5 * 64 * KIB, 8 * 64 * KIB, why));
        live.add(expectRegion(
                arena, 8 * 64 * KIB, 8 * 64 * KIB, why + ", after a region that had to double for its request"));
        live.add(expectRegion(arena, 8 * 64 * KIB, 16 * 64 * KIB, why + ", after one that did not have to double"));
        live.forEach(arena::free);
    }

    @ConformanceTest
    void required_O07_aRegionMayBeAsLargeAsTheRequest(Subject subject) {
        final Map<Long, Long> regions = new LinkedHashMap<>();
        for (final long byteSize : new long[] {1, 256, 257, 100_000, 3 * MIB}) {
            regions.put(byteSize, rounded(subject, byteSize));
        }
        for (final String asRequested : strategy(subject, "1", "kSameAsRequested")) {
            final Map<String, ?> settings = Map.of(STRATEGY, asRequested);
            final Allocator arena = arena(subject, settings);
            final List<Long> live = new ArrayList<>();
            regions.forEach((byteSize, region) -> live.add(expectRegion(arena, byteSize, region, "with " + settings)));
            live.forEach(arena::free);
            subject.release(arena);
        }
    }

    /** Returns what a block takes of a region that has room for many: its size, as the allocator rounds it. */
    private static long rounded(Subject subject, long byteSize) {
        final Allocator arena = subject.exclusive(Map.of());
        subject.requireArena(arena);
        arena.free(arena.alloc(16 * MIB));
        final long taken = byteSize + subject.paddingOf(arena, arena::alloc, byteSize);
        subject.release(arena);
        return taken - byteSize < Math.max(GRANULE, byteSize) ? taken : (byteSize + GRANULE - 1) / GRANULE * GRANULE;
    }

    /** Returns a size that fits so many bytes, as the allocator rounds it, and leaves less than half of them. */
    private static long fitting(Subject subject, long bytes) {
        return rounded(subject, bytes) == bytes ? bytes : Long.highestOneBit(bytes);
    }

    @ConformanceTest
    void required_O07_aFailedRequestDoesNotMoveGrowth(Subject subject) {
        final Map<String, ?> growth = Map.of(STRATEGY, 0, INITIAL, 64 * KIB, LARGEST, 64 * MIB);
        requireSameGrowth(subject, growth, List.of(1L << 48, 1L << 61)); // which no device has
        final Map<String, Object> limited = new HashMap<>(growth);
        limited.put(Subject.LIMIT, 16 * MIB);
        requireSameGrowth(subject, limited, List.of(17 * MIB, 1L << 40, 1L << 61));
    }

    /** Takes region after region, each after requests that fail; fails unless they have the sizes as without those. */
    private static void requireSameGrowth(Subject subject, Map<String, ?> settings, List<Long> failing) {
        final Allocator arena = arena(subject, settings);
        final List<Long> live = new ArrayList<>();
        for (final long region : new long[] {64 * KIB, 128 * KIB, 256 * KIB}) {
            failing.forEach(byteSize -> fail(arena, byteSize, settings));
            live.add(expectRegion(arena, region, region, "with " + settings + ", after requests that failed"));
        }
        live.forEach(arena::free);
        subject.release(arena);
    }

    @ConformanceTest
    void required_O07_growthRestartsAfterAShrink(Subject subject) {
        final Map<String, ?> settings =
                Map.of(STRATEGY, 0, INITIAL, 64 * KIB, AFTER_SHRINK, 192 * KIB, LARGEST, 64 * MIB);
        final ShrinkableAllocator arena = subject.shrinkable(arena(subject, settings));
        final List<Long> live = new ArrayList<>();
        live.add(expectRegion(arena, 64 * KIB, 64 * KIB, "with " + settings));
        live.add(expectRegion(arena, 128 * KIB, 128 * KIB, "with " + settings));
        arena.shrink();
        live.add(expectRegion(arena, 192 * KIB, 192 * KIB, "with " + settings + ", after a shrink"));
        live.add(expectRegion(arena, 1, 384 * KIB, "with " + settings + ", two regions after a shrink"));
        live.forEach(arena::free);
    }

    /** What an arena returns by itself is no shrink. */
    @ConformanceTest
    void required_O07_onlyAShrinkRestartsGrowth(Subject subject) {
        final Allocator first = arena(subject, GROWTH);
        requireGrowthGoesOn(first, first::alloc, _ -> fail(first, 17 * MIB, GROWTH), "requests beyond the limit");
        subject.release(first);
        final Allocator second = arena(subject, GROWTH);
        requireGrowthGoesOn(
                second, second::alloc, live -> press(second, live), "one that fits once regions are returned");
    }

    @ConformanceTest
    void required_O07_theEndOfARunDoesNotRestartGrowth(Subject subject) {
        final StreamAwareAllocator arena = subject.streamAware(arena(subject, GROWTH));
        final SyncStream stream = subject.stream();
        final LongUnaryOperator call = byteSize -> arena.allocOnStream(byteSize, stream);
        requireGrowthGoesOn(arena, call, _ -> stream.onSessionRunEnd(), "the end of a run");
    }

    private static void fail(Allocator arena, long byteSize, Map<String, ?> settings) {
        AllocationCalls.withoutStreams(arena)
                .forEach((name, call) -> Expect.rejection(
                        OutOfMemoryException.class, name + " with " + settings, () -> call.applyAsLong(byteSize)));
    }

    /** Requests what the limit has room for beside a reserve, but not beside the regions; it may fail. */
    private static void press(Allocator arena, List<Long> live) {
        final long reserved = arena.spiLevel() < SpiLevel.RESERVE ? 0 : arena.reserve(16 * MIB - 900 * KIB);
        try {
            live.add(arena.alloc(512 * KIB));
        } catch (OutOfMemoryException fragmented) {
            Expect.that(reserved != 0, "%s", fragmented.getMessage());
        }
        arena.free(reserved);
    }

    /** Takes three regions and frees all; fails unless growth goes on there after an event, which may take the next. */
    private static void requireGrowthGoesOn(
            Allocator arena, LongUnaryOperator call, Consumer<List<Long>> event, String after) {
        final List<Long> live = new ArrayList<>();
        for (final long region : new long[] {64 * KIB, 128 * KIB, 256 * KIB}) {
            live.add(expectRegion(arena, call, region, region, "with " + GROWTH));
        }
        live.forEach(arena::free);
        live.clear();
        final String why = "with " + GROWTH + ", after regions of 64, 128 and 256 KiB and " + after + ", no shrink";
        event.accept(live);
        if (live.isEmpty()) {
            live.add(expectRegion(arena, call, 512 * KIB, 512 * KIB, why));
        }
        live.add(expectRegion(arena, call, 512 * KIB, 1024 * KIB, why + ", and a region of 512"));
        live.forEach(arena::free);
    }

    @ConformanceTest
    void required_O07_aRegionIsWhatTheLimitLeaves(Subject subject) {
        final Map<String, ?> settings = Map.of(STRATEGY, 0, INITIAL, 256 * KIB, Subject.LIMIT, 300 * KIB);
        final Allocator arena = arena(subject, settings);
        final List<Long> live = new ArrayList<>();
        live.add(expectRegion(arena, 256 * KIB, 256 * KIB, "with " + settings));
        live.add(expectRegion(arena, 1, 44 * KIB, "with " + settings));
        live.add(expectRegion(arena, fitting(subject, 44 * KIB - rounded(subject, 1)), 0, "with " + settings));
        Expect.rejection(OutOfMemoryException.class, "alloc(1) with the limit filled", () -> arena.alloc(1));
        live.forEach(arena::free);
    }

    @ConformanceTest
    void required_O07_aDeviceThatHasLessIsAskedForLess(Subject subject) {
        if (subject.probe().isEmpty() && subject.memory().location().memoryType() == MemoryType.HOST_ACCESSIBLE) {
            throw Expect.skip(
                    "pinning most of a host's memory takes minutes; a DeviceProbe of a simulated device shows it");
        }
        final Allocator arena = arena(subject, Map.of(INITIAL, 1L << 48));
        try {
            arena.free(arena.alloc(1000));
        } catch (OutOfMemoryException e) {
            throw Expect.failure(
                    "no device has room for the first region of 2^48 bytes that is set, yet it has room for the 1000"
                            + " bytes requested; the request failed: " + e.getMessage(),
                    e);
        }
    }

    @ConformanceTest
    void required_O07_aFailedDeviceCallDoesNotMoveGrowth(Subject subject) {
        final DeviceProbe probe = subject.requireProbe();
        final Map<String, ?> settings = Map.of(STRATEGY, 0, INITIAL, 64 * KIB, LARGEST, 64 * MIB);
        final Allocator arena = arena(subject, settings);
        final List<Long> live = new ArrayList<>();
        for (final long region : new long[] {64 * KIB, 128 * KIB}) {
            probe.failCall(probe.calls() + 1);
            try {
                live.add(arena.alloc(region));
                throw Expect.skip("a region is taken without a call to the device");
            } catch (AllocatorException failed) {
                probe.failCall(0);
            }
            live.add(expectRegion(arena, region, region, "with " + settings + ", once the device works again"));
        }
        live.forEach(arena::free);
    }

    @ConformanceTest
    void required_O07_aFreeChunkIsSplitIfEnoughIsLeft(Subject subject) {
        final long whole = 64 * KIB;
        requireTaken(subject, whole, MIB, whole / 2, whole / 2);
        requireTaken(subject, whole, MIB, whole / 2 + 256, whole);
        requireTaken(subject, whole, 4 * KIB, whole - 4 * KIB, whole - 4 * KIB);
        requireTaken(subject, whole, 4 * KIB, whole - 4 * KIB + 256, whole);
        requireTaken(subject, whole, 4 * KIB, whole, whole);
    }

    /** Allocates from a free chunk; fails unless {@code taken} bytes of it are then in use. */
    private static void requireTaken(Subject subject, long chunk, long dead, long byteSize, long taken) {
        final Allocator arena = arena(subject, Map.of(INITIAL, chunk, DEAD, dead));
        final long address = arena.alloc(byteSize);
        final AllocatorStats stats = arena.stats();
        Expect.that(
                stats.bytesInUse() == taken
                        && (stats.largestFreeChunk() == chunk - taken || stats.largestFreeChunk() == 0),
                "with %s=%d, alloc(%d) in a free chunk of %d bytes must take %d; %d are in use, and %d in one piece",
                DEAD,
                dead,
                byteSize,
                chunk,
                taken,
                stats.bytesInUse(),
                stats.largestFreeChunk());
        arena.free(address);
        subject.release(arena);
    }

    @ConformanceTest
    void required_O05_sizesOfRegionsDoNotApplyWithoutDoubling(Subject subject) {
        final Allocator arena = arena(subject, Map.of(STRATEGY, 1));
        for (final String key : List.of(INITIAL, AFTER_SHRINK, LARGEST)) {
            final String value = arena.effectiveOptions().value(key);
            Expect.that(
                    value == null,
                    "with %s=1 a region is as large as its request, yet effectiveOptions returns %s=%s",
                    STRATEGY,
                    key,
                    value);
        }
    }
}
