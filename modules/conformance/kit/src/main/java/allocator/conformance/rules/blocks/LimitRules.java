package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;
import java.util.function.LongUnaryOperator;

/** What is granted at a limit: cached memory, reserves and the memory of streams must not stand in the way. */
public abstract class LimitRules extends Chapter {
    private static final long MIB = 1 << 20;

    private static long grant(LongUnaryOperator call, long byteSize, String story) {
        try {
            return call.applyAsLong(byteSize);
        } catch (OutOfMemoryException e) {
            throw Expect.failure(story + ": " + e.getMessage(), e);
        }
    }

    /**
     * Returns an allocator with a limit, of which it has had all at once: an arena has it in one region then, and free
     * memory in several regions of an arena cannot serve a large request.
     */
    private static Allocator limited(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long largest = subject.largestOf(allocator);
        allocator.free(grant(allocator::alloc, largest, "a request of the whole limit failed with nothing live"));
        return allocator;
    }

    /** Returns the calls that may take the memory that an allocator has cached: a reserve is not from regions. */
    private static Map<String, LongUnaryOperator> callsFromCache(Subject subject, Allocator allocator) {
        final Map<String, LongUnaryOperator> calls = AllocationCalls.withoutStreams(allocator);
        if (subject.isArena(allocator)) {
            calls.remove("reserve");
        }
        return calls;
    }

    @ConformanceTest
    void required_A05_whateverWasFreedBeforeTheWholeLimitIsGranted(Subject subject) {
        final Allocator allocator = limited(subject);
        final long limit = subject.limitOf(allocator);
        final long unit = subject.partOf(allocator, 16);
        final long smallest = subject.memory().byteAlignment();
        final Map<String, LongUnaryOperator> calls = callsFromCache(subject, allocator);
        calls.forEach((before, cached) -> {
            for (final long byteSize : new long[] {100, unit / 5, unit, 3 * unit, 7 * unit}) {
                final List<Long> live = new ArrayList<>();
                // Half of the limit, as sizes may be rounded up to a power of two.
                for (long sum = 0; sum <= limit / 2 && live.size() < 100; sum += Math.max(byteSize, smallest)) {
                    if (sum + 2 * Math.max(byteSize, smallest) <= limit) {
                        live.add(grant(cached, byteSize, "a request within the limit failed"));
                    }
                }
                live.forEach(allocator::free);
                calls.forEach((after, call) -> {
                    final String story = "blocks of " + before + "(" + byteSize + ") were freed; then " + after
                            + " of 15 sixteenths of the limit failed, with nothing live";
                    allocator.free(grant(call, 15 * unit, story));
                });
            }
        });
    }

    @ConformanceTest
    void required_A10_sizesThatAlternateAndGrowFitTheLimit(Subject subject) {
        final Allocator allocator = limited(subject);
        final long unit = subject.partOf(allocator, 64);
        final SplittableRandom random = subject.random("A-10 grow");
        for (int round = 0; round < subject.times(200, 30) && subject.hasTime(); round++) {
            for (int i = 1; i <= 60; i += 1 + random.nextInt(9)) {
                final long byteSize = (round % 2 == 0 ? i : 61 - i) * unit - random.nextLong(unit / 2);
                final String story = "nothing is live after " + round + " rounds of growing sizes, yet a request of "
                        + byteSize + " bytes within a limit of " + 64 * unit + " failed";
                allocator.free(grant(allocator::alloc, byteSize, story));
            }
        }
    }

    @ConformanceTest
    void required_R01_aReserveIsGrantedBesideCachedMemory(Subject subject) {
        final Allocator allocator = limited(subject);
        subject.requireReserve(allocator);
        if (subject.isArena(allocator)) {
            throw Expect.skip("an arena may keep its regions, and a reserve is not from them");
        }
        final long unit = subject.partOf(allocator, 16);
        for (int round = 0; round < 3; round++) {
            allocator.free(allocator.alloc(14 * unit));
            final long first = grant(
                    allocator::reserve,
                    8 * unit,
                    "14 sixteenths of the limit were allocated and freed; then a reserve of 8 failed");
            final long second =
                    grant(allocator::alloc, 7 * unit, "8 sixteenths are reserved; then an allocation of 7 failed");
            requireWithin(allocator, "a reserve beside cached memory");
            allocator.free(first);
            final long third = grant(
                    allocator::alloc, 8 * unit, "a reserve was freed; an allocation of its size failed at the limit");
            allocator.free(second);
            allocator.free(third);
        }
    }

    private static void requireWithin(Allocator allocator, String after) {
        final AllocatorStats stats =
                allocator.spiLevel() >= SpiLevel.STATISTICS ? allocator.stats() : AllocatorStats.NONE;
        if (stats.limit() != AllocatorStats.UNLIMITED) {
            Expect.that(
                    stats.bytesHeld() <= stats.limit() && stats.peakBytesHeld() <= stats.limit(),
                    "after %s, bytesHeld is %d and its peak %d; the limit is %d",
                    after,
                    stats.bytesHeld(),
                    stats.peakBytesHeld(),
                    stats.limit());
        }
    }

    @ConformanceTest
    void required_S03_noKindOfCallPassesTheLimit(Subject subject) {
        final Allocator allocator = subject.limited(8 * MIB);
        final long limit = subject.limitOf(allocator);
        final List<LongUnaryOperator> calls =
                List.copyOf(AllocationCalls.of(subject, allocator).values());
        final SplittableRandom random = subject.random("S-03 calls");
        final Map<Long, Long> live = new LinkedHashMap<>();
        long sum = 0;
        for (int i = 0; i < subject.times(2_000, 400) && subject.hasTime(); i++) {
            if (!live.isEmpty() && random.nextInt(100) < 40) {
                final long address = List.copyOf(live.keySet()).get(random.nextInt(live.size()));
                sum -= Objects.requireNonNull(live.remove(address));
                allocator.free(address);
            } else {
                final long byteSize = 1 + random.nextLong(limit / (random.nextBoolean() ? 3 : 20));
                try {
                    live.put(calls.get(random.nextInt(calls.size())).applyAsLong(byteSize), byteSize);
                    sum += byteSize;
                } catch (OutOfMemoryException full) {
                    Expect.that(full.shortage().requested() == byteSize, "%s", full.getMessage());
                }
            }
            Expect.that(sum <= limit, "blocks of %d bytes are live; the limit is %d", sum, limit);
            if (i % 10 == 0) {
                requireWithin(allocator, "step " + i);
            }
        }
        live.keySet().forEach(allocator::free);
    }

    @ConformanceTest
    void required_A05_theShortageOfEachKindOfCallIsTrue(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long unit = subject.limitOf(allocator) / 16;
        final AllocatorStats first = subject.stats(allocator);
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            live.add(allocator.alloc(unit));
        }
        allocator.free(live.remove(1));
        allocator.free(live.remove(2));
        // Small blocks, so that what is held is more than what is in use.
        final List<Long> small = new ArrayList<>();
        for (int i = 0; i < subject.mostLive(9) && i * subject.memory().byteAlignment() < unit / 2; i++) {
            small.add(allocator.alloc(100));
        }
        while (small.size() > 2) {
            allocator.free(small.removeLast());
        }
        live.addAll(small);
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            final Shortage shortage = Expect.rejection(
                            OutOfMemoryException.class,
                            name + " of 14 sixteenths of the limit with 4 live",
                            () -> call.applyAsLong(14 * unit))
                    .shortage();
            final AllocatorStats stats = allocator.stats();
            requireTrue(name, "requested", shortage.requested(), 14 * unit);
            Expect.that(
                    shortage.limit() == stats.limit(),
                    "the shortage of %s, beyond the limit, gives a limit of %d; it is %d",
                    name,
                    shortage.limit(),
                    stats.limit());
            requireTrue(name, "in use", shortage.inUse(), stats.bytesInUse());
            requireTrue(name, "held", shortage.held(), stats.bytesHeld());
            Expect.that(
                    shortage.largestFree() == OutOfMemoryException.UNKNOWN
                            || stats.largestFreeChunk() == 0
                            || shortage.largestFree() <= stats.largestFreeChunk(),
                    "the shortage of %s gives a largest free chunk of %d; the statistics say %d",
                    name,
                    shortage.largestFree(),
                    stats.largestFreeChunk());
            Expect.that(
                    shortage.rounded() >= shortage.requested() || shortage.rounded() == OutOfMemoryException.UNKNOWN,
                    "the shortage of %s gives %d bytes requested, rounded to %d",
                    name,
                    shortage.requested(),
                    shortage.rounded());
            Expect.that(
                    shortage.memory().equals(subject.memory()),
                    "the shortage of %s is one of %s",
                    name,
                    shortage.memory());
        });
        Expect.that(
                allocator.stats().limit() == first.limit(),
                "a shortage changed the limit to %d",
                allocator.stats().limit());
        live.forEach(allocator::free);
    }

    private static void requireTrue(String call, String what, long reported, long counted) {
        Expect.that(
                reported == OutOfMemoryException.UNKNOWN || reported == counted,
                "the shortage of %s says %s %d; it is %d",
                call,
                what,
                reported,
                counted);
    }

    @ConformanceTest
    void required_T04_atTheLimitARunsMemoryServesOthers(Subject subject) {
        requireServed(subject, "the end of a run", (first, _) -> first.onSessionRunEnd());
    }

    @ConformanceTest
    void required_T05_atTheLimitAClosedStreamsMemoryServesOthers(Subject subject) {
        requireServed(subject, "the close of the stream", (first, _) -> first.close());
    }

    /** Fills the limit on one stream and frees; afterwards another stream, and none, must get all of it. */
    private static void requireServed(Subject subject, String what, BiConsumer<SyncStream, SyncStream> between) {
        final StreamAwareAllocator allocator = subject.streamAware(limited(subject));
        Subject.requireOwnOrder(allocator);
        final long unit = subject.partOf(allocator, 16);
        final SyncStream second = subject.stream();
        for (final long byteSize : new long[] {unit / 4, unit, 4 * unit, 15 * unit}) {
            final SyncStream first = subject.stream();
            final List<Long> live = new ArrayList<>();
            for (long sum = 0; sum + byteSize <= 15 * unit; sum += byteSize) {
                live.add(grant(
                        size -> allocator.allocOnStream(size, first),
                        byteSize,
                        "a request of " + byteSize + " on a stream failed with " + sum + " bytes live"));
            }
            live.forEach(allocator::free);
            between.accept(first, second);
            final String story = "15 sixteenths of the limit, in blocks of " + byteSize
                    + ", were freed on one stream; after " + what + " ";
            allocator.free(grant(
                    size -> allocator.allocOnStream(size, second),
                    15 * unit,
                    story + "another stream did not get them"));
            second.onSessionRunEnd();
            allocator.free(grant(allocator::alloc, 15 * unit, story + "an allocation without stream did not get them"));
            first.close();
        }
    }

    @ConformanceTest
    void required_K04_aLimitHoldsAfterAShrink(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.limited(16 * MIB));
        final long unit = subject.partOf(allocator, 16);
        for (int round = 0; round < 3; round++) {
            final long kept = grant(allocator::alloc, unit, "a sixteenth of the limit was not granted");
            allocator.free(grant(allocator::alloc, 8 * unit, "8 sixteenths were not granted beside one"));
            allocator.shrink();
            final long large = grant(allocator::alloc, 8 * unit, "after a shrink, 8 sixteenths were not granted");
            Expect.rejection(
                    OutOfMemoryException.class,
                    "alloc of 8 sixteenths of the limit beside 9, after a shrink",
                    () -> allocator.alloc(8 * unit));
            requireWithin(allocator, "a shrink");
            allocator.free(kept);
            allocator.free(large);
            allocator.shrink(); // or the next sixteenth may split what the next eight need
        }
        if (callsFromCache(subject, allocator).containsKey("reserve")) {
            final long reserved = grant(allocator::reserve, 12 * unit, "a reserve after shrinks failed");
            allocator.shrink();
            Expect.rejection(
                    OutOfMemoryException.class,
                    "alloc of 5 sixteenths of the limit beside a reserve of 12, after a shrink",
                    () -> allocator.alloc(5 * unit));
            allocator.free(reserved);
        }
    }
}
