package allocator.conformance.rules.blocks;

import allocator.conformance.DeviceProbe;
import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.StatisticsCheck;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Workers;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongUnaryOperator;

/** Chapter S: counters are true at every moment. */
public abstract class StatisticsRules extends Chapter {
    private static final long MIB = 1 << 20;

    private static void requireConsistent(AllocatorStats stats, boolean isArena, String when) {
        StatisticsCheck.fault(stats, isArena).ifPresent(fault -> Expect.that(false, "%s %s", when, fault));
    }

    @ConformanceTest
    void required_S01_whatIsInUseIsCounted(Subject subject) {
        final Allocator allocator = subject.allocator();
        final AllocatorStats before = subject.stats(allocator);
        final List<Long> addresses = new ArrayList<>();
        long requested = 0;
        for (final long byteSize : new long[] {1, 255, 256, 257, 1000, 65_537, MIB + 1}) {
            addresses.add(allocator.alloc(byteSize));
            requested += byteSize;
            final AllocatorStats now = allocator.stats();
            Expect.that(
                    now.requestedBytesInUse() == requested,
                    "blocks of %d bytes in all were requested and are live; requestedBytesInUse is %d",
                    requested,
                    now.requestedBytesInUse());
            Expect.that(
                    now.bytesInUse() >= requested && now.peakBytesInUse() >= requested,
                    "%d bytes are live; bytesInUse is %d, its peak %d",
                    requested,
                    now.bytesInUse(),
                    now.peakBytesInUse());
            Expect.that(
                    now.maxAllocSize() == 0 || now.maxAllocSize() >= byteSize,
                    "a block of %d bytes was allocated; maxAllocSize is %d",
                    byteSize,
                    now.maxAllocSize());
        }
        final AllocatorStats full = allocator.stats();
        addresses.forEach(allocator::free);
        final AllocatorStats after = allocator.stats();
        Expect.that(
                after.bytesInUse() == before.bytesInUse()
                        && after.requestedBytesInUse() == before.requestedBytesInUse(),
                "everything is freed; bytesInUse is %d, it was %d before",
                after.bytesInUse(),
                before.bytesInUse());
        Expect.that(
                after.peakBytesInUse() == full.peakBytesInUse() && after.maxAllocSize() == full.maxAllocSize(),
                "freeing changed peakBytesInUse from %d to %d, maxAllocSize from %d to %d",
                full.peakBytesInUse(),
                after.peakBytesInUse(),
                full.maxAllocSize(),
                after.maxAllocSize());
    }

    @ConformanceTest
    void required_S01_callsAreCounted(Subject subject) {
        final Allocator allocator = subject.allocator();
        final AllocatorStats before = subject.stats(allocator);
        if (before.numAllocs() == 0) {
            throw Expect.skip("the allocator does not count calls");
        }
        final long first = allocator.alloc(100);
        final long second = allocator.alloc(200);
        requireCalls(allocator, "two allocs", before.numAllocs() + 2, before.numReserves());
        allocator.free(first);
        allocator.free(second);
        requireCalls(allocator, "two allocs and two frees", before.numAllocs() + 2, before.numReserves());
        subject.requireReserve(allocator);
        final long third = allocator.reserve(300);
        requireCalls(allocator, "two allocs and a reserve", before.numAllocs() + 3, before.numReserves() + 1);
        allocator.free(third);
    }

    private static void requireCalls(Allocator allocator, String after, long allocs, long reserves) {
        final AllocatorStats stats = allocator.stats();
        Expect.that(
                stats.numAllocs() == allocs && (stats.numReserves() == reserves || stats.numReserves() == 0),
                "after %s, numAllocs is %d instead of %d, numReserves %d instead of %d",
                after,
                stats.numAllocs(),
                allocs,
                stats.numReserves(),
                reserves);
    }

    @ConformanceTest
    void required_S01_whatIsHeldIsWhatTheDeviceGave(Subject subject) {
        final Allocator allocator = subject.allocator();
        final DeviceProbe probe = subject.requireProbe();
        subject.stats(allocator);
        final SplittableRandom random = subject.random("S-01");
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            if (live.size() > 20 || (!live.isEmpty() && random.nextBoolean())) {
                allocator.free(live.remove(random.nextInt(live.size())));
            } else {
                live.add(allocator.alloc(1 + random.nextLong(300_000)));
            }
            final long held = probe.bytesHeld(subject.memory())
                    .orElseThrow(() -> Expect.skip("the device does not count this memory"));
            Expect.that(
                    allocator.stats().bytesHeld() == held,
                    "bytesHeld is %d; the device gave %d",
                    allocator.stats().bytesHeld(),
                    held);
        }
        live.forEach(allocator::free);
    }

    @ConformanceTest
    void required_S02_countersAgreeWithOneAnother(Subject subject) {
        final Allocator allocator = subject.allocator();
        requireConsistent(subject.stats(allocator), false, "at first");
        final boolean isArena = subject.isArena(allocator);
        final SplittableRandom random = subject.random("S-02");
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < subject.times(2_000, 300) && subject.hasTime(); i++) {
            if (live.size() > 50 || (!live.isEmpty() && random.nextInt(100) < 47)) {
                allocator.free(live.remove(random.nextInt(live.size())));
            } else {
                live.add(allocator.alloc(1 + random.nextLong(1L << random.nextInt(1, 18))));
            }
            requireConsistent(allocator.stats(), isArena, "in step " + i);
        }
        live.forEach(allocator::free);
        requireConsistent(allocator.stats(), isArena, "with everything freed");
    }

    @ConformanceTest
    void required_S03_whatIsHeldNeverPassesTheLimit(Subject subject) {
        final Allocator allocator = subject.limited(8 * MIB);
        final long unit = subject.limitOf(allocator) / 8;
        subject.stats(allocator);
        final SplittableRandom random = subject.random("S-03");
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < subject.times(1_000, 200) && subject.hasTime(); i++) {
            if (!live.isEmpty() && random.nextInt(100) < 40) {
                allocator.free(live.remove(random.nextInt(live.size())));
            } else {
                try {
                    live.add(allocator.alloc(1 + random.nextLong(unit)));
                } catch (OutOfMemoryException full) {
                    allocator.free(live.remove(random.nextInt(live.size())));
                }
            }
            final AllocatorStats stats = allocator.stats();
            Expect.that(
                    stats.limit() == 8 * unit && stats.peakBytesHeld() <= stats.limit(),
                    "within a limit of %d bytes, which the statistics give as %d, %d were held",
                    8 * unit,
                    stats.limit(),
                    stats.peakBytesHeld());
            Expect.that(
                    subject.heldByDevice(0) <= 8 * unit,
                    "within a limit of %d bytes, %d were taken from the device",
                    8 * unit,
                    subject.heldByDevice(0));
        }
        live.forEach(allocator::free);
    }

    @ConformanceTest
    void required_S04_withEverythingFreedNothingIsInUse(Subject subject) {
        final Allocator allocator = subject.allocator();
        subject.stats(allocator);
        final SplittableRandom random = subject.random("S-04");
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < subject.mostLive(300); i++) {
            live.add(allocator.alloc(1 + random.nextLong(50_000)));
        }
        while (!live.isEmpty()) {
            allocator.free(live.remove(random.nextInt(live.size())));
        }
        final AllocatorStats stats = allocator.stats();
        Expect.that(
                stats.bytesInUse() == 0 && stats.requestedBytesInUse() == 0,
                "everything is freed; bytesInUse is %d and requestedBytesInUse %d",
                stats.bytesInUse(),
                stats.requestedBytesInUse());
    }

    @ConformanceTest
    void required_S02_peaksIncludeWhatCameAndWentBetweenTwoReadings(Subject subject) {
        AllocationCalls.of(subject, subject.allocator()).keySet().forEach(name -> {
            final Allocator allocator = subject.exclusive(Map.of());
            final AllocatorStats before = subject.stats(allocator);
            final LongUnaryOperator call = Objects.requireNonNull(
                    AllocationCalls.of(subject, allocator).get(name));
            allocator.free(call.applyAsLong(3 * MIB));
            Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink);
            final AllocatorStats now = allocator.stats();
            final long least = before.bytesInUse() + 3 * MIB;
            final String story = "a block of 3 MiB came, by %s, and went before the statistics were read: %s is %d";
            Expect.that(now.peakBytesInUse() >= least, story, name, "peakBytesInUse", now.peakBytesInUse());
            Expect.that(now.peakBytesHeld() >= least, story, name, "peakBytesHeld", now.peakBytesHeld());
            Expect.that(
                    now.maxAllocSize() == 0 || now.maxAllocSize() >= 3 * MIB,
                    story,
                    name,
                    "maxAllocSize",
                    now.maxAllocSize());
            subject.release(allocator);
        });
    }

    @ConformanceTest
    void required_S06_countersOfItsOwnKeepTheirNamesAndMonotoneOnesNeverDecrease(Subject subject) {
        final Allocator allocator = subject.allocator();
        AllocatorStats before = subject.stats(allocator);
        if (before.counters().isEmpty()) {
            throw Expect.skip("the allocator has no counters of its own");
        }
        final List<Long> live = new ArrayList<>();
        final SplittableRandom random = subject.random("S-06");
        for (int call = 0; call < 200; call++) {
            if (live.isEmpty() || random.nextInt(100) < 55) {
                live.add(allocator.alloc(1 + random.nextLong(100_000)));
            } else {
                allocator.free(live.remove(random.nextInt(live.size())));
            }
            final AllocatorStats now = allocator.stats();
            requireSameCounters(before, now);
            before = now;
        }
        live.forEach(allocator::free);
        requireSameCounters(before, allocator.stats());
        final AllocatorStats last = before;
        Subject.ifShrinkable(allocator).ifPresent(shrinkable -> {
            shrinkable.shrink();
            requireSameCounters(last, allocator.stats());
        });
        subject.ifStreamAware(allocator).ifPresent(streamAware -> {
            final SyncStream stream = subject.stream();
            allocator.free(streamAware.allocOnStream(4096, stream));
            stream.onSessionRunEnd();
            requireSameCounters(last, allocator.stats());
        });
    }

    private static void requireSameCounters(AllocatorStats before, AllocatorStats now) {
        Expect.that(
                before.counters().size() == now.counters().size(),
                "the allocator had the counters %s of its own, and now has %s",
                before.counters(),
                now.counters());
        for (final AllocatorStats.Counter old : before.counters()) {
            final AllocatorStats.Counter counter = now.counter(old.name()).orElse(old);
            Expect.that(
                    now.counter(old.name()).isPresent()
                            && counter.unit() == old.unit()
                            && counter.isMonotone() == old.isMonotone(),
                    "the counter %s is now %s",
                    old,
                    now.counter(old.name()));
            Expect.that(
                    !old.isMonotone() || counter.value() >= old.value(),
                    "the counter %s is monotone; its value went from %d to %d",
                    old.name(),
                    old.value(),
                    counter.value());
        }
    }

    @ConformanceTest
    void stochastic_S01_countersAgreeWhileThreadsWork(Subject subject) throws Throwable {
        final Allocator allocator = subject.allocator();
        subject.stats(allocator);
        final boolean isArena = subject.isArena(allocator);
        final AtomicBoolean isOver = new AtomicBoolean();
        Workers.run(Thread.ofPlatform().daemon(), 3, worker -> {
            if (worker == 0) {
                while (!isOver.get() && !Thread.interrupted()) {
                    requireConsistent(allocator.stats(), isArena, "while threads work");
                }
                return;
            }
            try {
                final SplittableRandom random = subject.random("S-01 worker " + worker);
                for (int i = 0; i < subject.times(10_000, 1_000) && subject.hasTime(); i++) {
                    allocator.free(allocator.alloc(1 + random.nextLong(10_000)));
                }
            } finally {
                isOver.set(true);
            }
        });
        requireConsistent(allocator.stats(), isArena, "after the threads");
    }

    @ConformanceTest
    void stochastic_S03_threadsTogetherDoNotPassTheLimit(Subject subject) throws Throwable {
        for (int round = 0; round < subject.times(60, 20) && subject.hasTime(); round++) {
            final Allocator allocator = subject.limited(4 * MIB);
            final long limit = subject.limitOf(allocator);
            // Two fit; if all threads check before any of them allocates, four are granted.
            final long byteSize = limit / 8 * 3;
            Workers.run(Thread.ofPlatform().daemon(), 4, worker -> {
                final List<Long> live = new ArrayList<>();
                for (int i = 0; i < 6; i++) {
                    try {
                        live.add(allocator.alloc(byteSize));
                    } catch (OutOfMemoryException full) {
                        Thread.onSpinWait();
                    }
                }
                live.forEach(allocator::free);
            });
            final AllocatorStats stats = subject.stats(allocator);
            Expect.that(
                    stats.peakBytesHeld() <= limit,
                    "four threads together held %d bytes, past the limit of %d",
                    stats.peakBytesHeld(),
                    limit);
            subject.release(allocator);
        }
    }
}
