package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.ProviderFixture;
import allocator.conformance.subject.StatisticsCheck;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkReport;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.LongUnaryOperator;

/** Chapter S: every counter, compared exactly after programs whose effects are known. */
public abstract class CounterRules extends Chapter {
    private static final long MIB = 1 << 20;

    protected CounterRules(ProviderFixture fixture) {
        super(fixture);
    }

    /** Returns an allocator that no other user has, which counts. */
    private static Allocator counting(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        subject.stats(allocator);
        return allocator;
    }

    private static void requireCounter(String name, long now, long expected, String after) {
        Expect.that(now == expected, "after %s, %s is %d instead of %d", after, name, now, expected);
    }

    /** A counter of calls is exact, or always 0 because the allocator does not count these calls. */
    private static void requireCalls(String name, long now, long expected, String after) {
        Expect.that(now == expected || now == 0, "after %s, %s is %d instead of %d", after, name, now, expected);
    }

    @ConformanceTest
    void required_S01_everyKindOfCallIsCounted(Subject subject) {
        final Allocator allocator = counting(subject);
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            final AllocatorStats before = allocator.stats();
            final long sum = 1 + 300 + 70_000;
            final List<Long> live = new ArrayList<>();
            for (final long byteSize : new long[] {1, 0, 300, 70_000}) {
                live.add(call.applyAsLong(byteSize));
            }
            final AllocatorStats full = allocator.stats();
            final String after = "three calls of " + name + " and one of size 0";
            final boolean isReserve = name.equals("reserve");
            requireCounter(
                    "requestedBytesInUse", full.requestedBytesInUse(), before.requestedBytesInUse() + sum, after);
            requireCalls("numAllocs", full.numAllocs(), before.numAllocs() + 3, after);
            requireCalls("numReserves", full.numReserves(), before.numReserves() + (isReserve ? 3 : 0), after);
            requireCounter("numFailedAllocs", full.numFailedAllocs(), before.numFailedAllocs(), after);
            live.forEach(allocator::free);
            final AllocatorStats freed = allocator.stats();
            final String afterwards = after + ", and their frees";
            requireCounter(
                    "requestedBytesInUse", freed.requestedBytesInUse(), before.requestedBytesInUse(), afterwards);
            requireCounter("bytesInUse", freed.bytesInUse(), before.bytesInUse(), afterwards);
            requireCounter("numAllocs", freed.numAllocs(), full.numAllocs(), afterwards);
            requireCounter("numReserves", freed.numReserves(), full.numReserves(), afterwards);
            requireCounter("maxAllocSize", freed.maxAllocSize(), full.maxAllocSize(), afterwards);
        });
    }

    @ConformanceTest
    void required_S01_theLargestBlockIsCountedWithItsPadding(Subject subject) {
        final Allocator allocator = counting(subject);
        if (allocator.stats().maxAllocSize() == 0) {
            throw Expect.skip("the allocator does not count the size of the largest block");
        }
        long largest = allocator.stats().maxAllocSize();
        long unit = 1;
        for (final Map.Entry<String, LongUnaryOperator> call :
                AllocationCalls.of(subject, allocator).entrySet()) {
            for (final long units : new long[] {5000, 300, 70_001, 1, 2 * MIB + 1, 70_001}) {
                final long before = allocator.stats().bytesInUse();
                final long address = call.getValue().applyAsLong(units * unit);
                final AllocatorStats stats = allocator.stats();
                largest = Math.max(largest, stats.bytesInUse() - before);
                requireCounter(
                        "maxAllocSize",
                        stats.maxAllocSize(),
                        largest,
                        call.getKey() + "(" + units * unit + "), which takes " + (stats.bytesInUse() - before)
                                + " bytes");
                allocator.free(address);
            }
            unit++; // so that the largest block so far is of this kind
        }
    }

    /** Only allocations take regions; what a call returns by the way is counted on both sides. */
    @ConformanceTest
    void required_S01_eachRegionIsCountedOnceEachWay(Subject subject) {
        final Allocator allocator = subject.exclusive(subject.manyRegions());
        subject.requireArena(allocator);
        final SplittableRandom random = subject.random("S-01 regions");
        final Map<String, LongUnaryOperator> calls = AllocationCalls.of(subject, allocator);
        final Deque<Long> live = new ArrayDeque<>();
        for (int round = 0; round < subject.times(40, 8); round++) {
            calls.forEach((name, call) -> {
                final long byteSize = 1 + random.nextLong(1L << random.nextInt(4, 18));
                final AllocatorStats before = allocator.stats();
                live.add(call.applyAsLong(byteSize));
                requireRegions(before, allocator.stats(), !name.equals("reserve"), name + "(" + byteSize + ")");
                final AllocatorStats then = allocator.stats();
                Shortages.isCounted(allocator, call);
                requireRegions(then, allocator.stats(), false, "a failed " + name);
            });
            while (live.size() > 2 * round) {
                final AllocatorStats before = allocator.stats();
                allocator.free(live.remove());
                requireRegions(before, allocator.stats(), false, "a free");
            }
            if (round % 4 == 3) {
                final AllocatorStats before = allocator.stats();
                Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink);
                requireRegions(before, allocator.stats(), false, "a shrink");
            }
        }
        live.forEach(allocator::free);
    }

    private static void requireRegions(AllocatorStats before, AllocatorStats now, boolean mayTake, String after) {
        final long more = now.numArenaExtensions() - before.numArenaExtensions();
        final long taken = more + now.numArenaShrinkages() - before.numArenaShrinkages();
        final boolean isCounted = now.numArenaShrinkages() != 0;
        Expect.that(
                mayTake ? taken >= 0 || !isCounted : taken == 0 || (!isCounted && more < 0),
                "after %s, numArenaExtensions, the regions held, went from %d to %d, and numArenaShrinkages from %d"
                        + " to %d: that makes %d regions taken",
                after,
                before.numArenaExtensions(),
                now.numArenaExtensions(),
                before.numArenaShrinkages(),
                now.numArenaShrinkages(),
                taken);
    }

    @ConformanceTest
    void required_S02_peaksAreExactAndNeverFall(Subject subject) {
        final Allocator allocator = subject.exclusive(subject.boundedGrowth());
        Subject.requireNoPlans(allocator);
        subject.stats(allocator);
        final Optional<ShrinkableAllocator> shrinkable = Subject.ifShrinkable(allocator);
        final SplittableRandom random = subject.random("S-02 peaks");
        final Deque<Long> live = new ArrayDeque<>();
        long peakInUse = allocator.stats().peakBytesInUse();
        AllocatorStats last = allocator.stats();
        for (int i = 0; i < subject.times(1_000, 250) && subject.hasTime(); i++) {
            final int dice = random.nextInt(100);
            if (dice < 3 && shrinkable.isPresent()) {
                shrinkable.get().shrink();
            } else if (dice < 10 && allocator.spiLevel() >= SpiLevel.RESERVE) {
                live.add(allocator.reserve(1 + random.nextLong(100_000)));
            } else if (live.size() > 40 || (!live.isEmpty() && dice < 50)) {
                allocator.free(live.remove());
            } else {
                live.add(allocator.alloc(1 + random.nextLong(1L << random.nextInt(4, 18))));
            }
            final AllocatorStats now = allocator.stats();
            peakInUse = Math.max(peakInUse, now.bytesInUse());
            requireCounter("peakBytesInUse", now.peakBytesInUse(), peakInUse, "step " + i + " of one thread");
            requireNoneFell(last, now, i);
            last = now;
        }
        live.forEach(allocator::free);
    }

    private static void requireNoneFell(AllocatorStats before, AllocatorStats now, int step) {
        StatisticsCheck.fall(before, now).ifPresent(fault -> Expect.that(false, "in step %d %s", step, fault));
    }

    @ConformanceTest
    void required_S01_theLargestFreeChunkIsServedWithoutTheDevice(Subject subject) {
        final Allocator allocator = subject.exclusive(subject.manyRegions());
        subject.stats(allocator);
        final Allocator rounding = subject.exclusive(subject.boundedGrowth());
        final SplittableRandom random = subject.random("S-01 largest");
        final List<Long> live = new ArrayList<>();
        for (int round = 0; round < subject.times(40, 10); round++) {
            while (live.size() < 40) {
                live.add(allocator.alloc(1 + random.nextLong(1L << random.nextInt(4, 16))));
            }
            while (live.size() > 20) {
                allocator.free(live.remove(random.nextInt(live.size())));
            }
            final AllocatorStats before = allocator.stats();
            Expect.that(
                    before.largestFreeChunk() <= before.freeBytes(),
                    "largestFreeChunk is %d, freeBytes %d",
                    before.largestFreeChunk(),
                    before.freeBytes());
            final long byteSize = FreeChunk.fitting(subject, rounding, before.largestFreeChunk());
            if (byteSize > 0) {
                final long address = allocator.alloc(byteSize);
                final AllocatorStats after = allocator.stats();
                Expect.that(
                        after.bytesHeld() <= before.bytesHeld(),
                        "largestFreeChunk was %d; a request of %d bytes raised bytesHeld from %d to %d",
                        before.largestFreeChunk(),
                        byteSize,
                        before.bytesHeld(),
                        after.bytesHeld());
                allocator.free(address);
            }
        }
        live.forEach(allocator::free);
    }

    /**
     * What is free and bound to different streams is no chunk: there is a requester, without a stream or of one, that
     * gets a request as large as the largest free chunk from what is held. Each requester is asked after the same
     * program, of an allocator of its own.
     */
    @ConformanceTest
    void required_S01_theLargestFreeChunkIsOfOneRequester(Subject subject) {
        final StreamAwareAllocator any = subject.streamAware(subject.exclusive(subject.manyRegions()));
        subject.stats(any);
        subject.release(any);
        final Allocator rounding = subject.exclusive(subject.boundedGrowth());
        final List<SyncStream> streams = new ArrayList<>(List.of(subject.stream()));
        for (int i = 0; i < 2; i++) {
            subject.furtherStream(subject.memory()).ifPresent(streams::add);
        }
        for (int round = 0; round < subject.times(40, 12) && subject.hasTime(); round++) {
            final StringBuilder results = new StringBuilder();
            boolean isServed = false;
            for (int i = -1; i < streams.size() && !isServed; i++) {
                final StreamAwareAllocator allocator = subject.streamAware(subject.exclusive(subject.manyRegions()));
                final List<Long> live = FreeChunk.scatter(
                        allocator, streams, subject.random("S-01 requesters " + round), round % 2 == 0 ? 8 : 1);
                final AllocatorStats before = allocator.stats();
                final long byteSize = FreeChunk.fitting(subject, rounding, before.largestFreeChunk());
                if (byteSize > 0) {
                    live.add(i < 0 ? allocator.alloc(byteSize) : allocator.allocOnStream(byteSize, streams.get(i)));
                }
                final long taken = Math.max(0, allocator.stats().bytesHeld() - before.bytesHeld());
                isServed = taken == 0;
                results.append("; %d of %d for %s took %d bytes from the device"
                        .formatted(byteSize, before.largestFreeChunk(), i < 0 ? "none" : "stream " + i, taken));
                live.forEach(allocator::free);
                subject.release(allocator);
            }
            Expect.that(
                    isServed,
                    "blocks of %d streams and of none were freed; no requester got the largest free chunk%s",
                    streams.size(),
                    results);
        }
    }

    @ConformanceTest
    void required_S01_countersGoOnAfterAShrink(Subject subject) {
        final Allocator allocator = subject.exclusive(subject.manyRegions());
        subject.stats(allocator);
        final ShrinkableAllocator shrinkable = subject.shrinkable(allocator);
        final long kept = allocator.alloc(5000);
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            live.add(allocator.alloc(3000));
        }
        live.add(allocator.alloc(3 * MIB));
        live.forEach(allocator::free);
        final AllocatorStats before = allocator.stats();
        final ShrinkReport report = shrinkable.shrink();
        final AllocatorStats after = allocator.stats();
        final long returned = before.numArenaExtensions() - after.numArenaExtensions();
        Expect.that(
                after.numArenaExtensions() <= before.numArenaExtensions()
                        && (before.numArenaExtensions() == 0
                                || after.numArenaShrinkages() == 0
                                || after.numArenaShrinkages() - before.numArenaShrinkages() == returned),
                "a shrink returned %d regions; numArenaExtensions, the regions held, went from %d to %d, and"
                        + " numArenaShrinkages from %d to %d",
                report.regionsReleased(),
                before.numArenaExtensions(),
                after.numArenaExtensions(),
                before.numArenaShrinkages(),
                after.numArenaShrinkages());
        Expect.that(
                before.numArenaExtensions() == 0 || subject.isReturned(report.regionsReleased(), returned),
                "a shrink reports %d regions released; numArenaExtensions, the regions held, went from %d to %d",
                report.regionsReleased(),
                before.numArenaExtensions(),
                after.numArenaExtensions());
        requireCounter("numAllocs", after.numAllocs(), before.numAllocs(), "a shrink");
        requireCounter("numReserves", after.numReserves(), before.numReserves(), "a shrink");
        requireCounter("numFailedAllocs", after.numFailedAllocs(), before.numFailedAllocs(), "a shrink");
        requireCounter("bytesInUse", after.bytesInUse(), before.bytesInUse(), "a shrink");
        requireCounter("requestedBytesInUse", after.requestedBytesInUse(), before.requestedBytesInUse(), "a shrink");
        requireCounter("peakBytesInUse", after.peakBytesInUse(), before.peakBytesInUse(), "a shrink");
        requireCounter("peakBytesHeld", after.peakBytesHeld(), before.peakBytesHeld(), "a shrink");
        requireCounter("maxAllocSize", after.maxAllocSize(), before.maxAllocSize(), "a shrink");
        requireCounter("limit", after.limit(), before.limit(), "a shrink");
        allocator.free(kept);
    }

    @ConformanceTest
    void required_S01_aLimitAppearsInTheStatistics(Subject subject) {
        final Allocator unlimited = counting(subject);
        if (!subject.hasKey(Subject.LIMIT)) {
            Expect.that(
                    unlimited.stats().limit() == AllocatorStats.UNLIMITED
                            || unlimited.stats().limit() > 0,
                    "there is no option %s, and the statistics give a limit of %d; none is %d",
                    Subject.LIMIT,
                    unlimited.stats().limit(),
                    AllocatorStats.UNLIMITED);
            throw Expect.skip("the provider has no option %s", Subject.LIMIT);
        }
        final Allocator limited = subject.withStatistics(
                subject.exclusive(Map.of(Subject.LIMIT, Long.toString(Math.max(8 * MIB, subject.smallestLimit())))));
        if (limited.effectiveOptions().value(Subject.LIMIT) == null) {
            throw Expect.skip("%s does not apply to this memory", Subject.LIMIT);
        }
        requireCounter("limit", limited.stats().limit(), subject.limitOf(limited), "setting " + Subject.LIMIT);
        limited.free(limited.alloc(1000));
        requireCounter("limit", limited.stats().limit(), subject.limitOf(limited), "an allocation and its free");
    }
}
