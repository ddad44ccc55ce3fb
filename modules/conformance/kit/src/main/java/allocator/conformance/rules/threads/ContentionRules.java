package allocator.conformance.rules.threads;

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
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Chapter C: threads that want the same thing at the same time. Nothing of the kit's own keeps them apart. */
public abstract class ContentionRules extends Chapter {
    private static final long MIB = 1 << 20;
    private static final int THREADS = 4;

    /** How long threads contend for one size, in a full and in a quick run. */
    private static final int MOST_MILLIS = 600;

    private static final int FEW_MILLIS = 100;

    private static Thread.Builder platform() {
        return Thread.ofPlatform().daemon();
    }

    /** The blocks that threads have; entered after an allocation, left before the free. */
    private static final class Owners {
        private final Map<Long, Integer> owners = new ConcurrentHashMap<>();

        void take(long address, int worker) {
            final Integer other = owners.putIfAbsent(address, worker);
            Expect.that(
                    other == null,
                    "%s went to thread %d while thread %d had it: handed out twice",
                    Expect.hex(address),
                    worker,
                    other);
        }

        void leave(long address) {
            owners.remove(address);
        }
    }

    /** Has threads allocate and free one size as fast as they can. */
    private static void contend(Subject subject, Allocator allocator, long byteSize, int rounds, Call call)
            throws Throwable {
        final Owners owners = new Owners();
        final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(subject.times(MOST_MILLIS, FEW_MILLIS));
        Workers.run(platform(), THREADS, worker -> {
            final Deque<Long> live = new ArrayDeque<>();
            for (int i = 0; i < rounds && System.nanoTime() < end; i++) {
                if (live.size() == 3) {
                    final long oldest = live.remove();
                    owners.leave(oldest);
                    allocator.free(oldest);
                }
                final long address = call.alloc(byteSize, worker);
                owners.take(address, worker);
                live.add(address);
            }
            for (final long address : live) {
                owners.leave(address);
                allocator.free(address);
            }
        });
    }

    /** An allocation by a worker. */
    private interface Call {
        long alloc(long byteSize, int worker) throws Throwable;
    }

    @ConformanceTest
    void stochastic_C01_oneSizeIsHandedOutOnce(Subject subject) throws Throwable {
        final Allocator allocator = subject.exclusive(subject.boundedGrowth());
        for (final long byteSize : new long[] {1, 64, 1024, 40_000}) {
            contend(subject, allocator, byteSize, subject.times(60_000, 6_000), (size, _) -> allocator.alloc(size));
        }
    }

    @ConformanceTest
    void stochastic_C01_streamsAreHandedBlocksOnce(Subject subject) throws Throwable {
        final StreamAwareAllocator allocator = subject.streamAware(subject.exclusive(subject.boundedGrowth()));
        final List<SyncStream> own = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            own.add(subject.stream());
        }
        final int rounds = subject.times(20_000, 2_500);
        contend(subject, allocator, 1000, rounds, (size, worker) -> allocator.allocOnStream(size, own.get(worker)));
        contend(subject, allocator, 1000, rounds, (size, worker) -> allocator.allocOnStream(size, own.get(worker % 2)));
        contend(
                subject,
                allocator,
                1000,
                rounds,
                (size, worker) -> worker < 2 ? allocator.alloc(size) : allocator.allocOnStream(size, own.get(worker)));
    }

    @ConformanceTest
    void stochastic_C01_reservesAreHandedOutOnce(Subject subject) throws Throwable {
        final Allocator allocator = subject.exclusive(subject.boundedGrowth());
        subject.requireReserve(allocator);
        contend(
                subject,
                allocator,
                2000,
                subject.times(8_000, 800),
                (size, worker) -> worker % 2 == 0 ? allocator.reserve(size) : allocator.alloc(size));
    }

    @ConformanceTest
    void stochastic_S01_totalsAreExactAfterThreads(Subject subject) throws Throwable {
        final Allocator allocator = subject.exclusive(subject.boundedGrowth());
        final AllocatorStats before = subject.stats(allocator);
        final AtomicLong allocs = new AtomicLong();
        final AtomicLong reserves = new AtomicLong();
        final AtomicLong failures = new AtomicLong();
        final AtomicLong requested = new AtomicLong();
        final Map<Long, Long> live = new ConcurrentHashMap<>();
        final boolean reserve = allocator.spiLevel() >= SpiLevel.RESERVE;
        final int rounds = subject.times(30_000, 4_000);
        Workers.run(platform(), THREADS, worker -> {
            for (int i = 0; i < rounds && (i % 64 != 0 || subject.hasTime()); i++) {
                final long byteSize = 16L + i % 7 * 100L;
                if (i % 50 == 49) {
                    try {
                        allocator.alloc(1L << 50);
                    } catch (OutOfMemoryException full) {
                        failures.incrementAndGet();
                    }
                }
                final boolean isReserve = reserve && i % 20 == worker;
                final long address = isReserve ? allocator.reserve(byteSize) : allocator.alloc(byteSize);
                allocs.incrementAndGet();
                reserves.addAndGet(isReserve ? 1 : 0);
                if (i % 500 == 0) {
                    live.put(address, byteSize);
                    requested.addAndGet(byteSize);
                } else {
                    allocator.free(address);
                }
            }
        });
        final AllocatorStats after = allocator.stats();
        requireTotal("numAllocs", after.numAllocs(), before.numAllocs(), allocs.get());
        requireTotal("numReserves", after.numReserves(), before.numReserves(), reserves.get());
        requireTotal("numFailedAllocs", after.numFailedAllocs(), before.numFailedAllocs(), failures.get());
        Expect.that(
                after.requestedBytesInUse() == before.requestedBytesInUse() + requested.get(),
                "%d threads left blocks of %d bytes; requestedBytesInUse went from %d to %d",
                THREADS,
                requested.get(),
                before.requestedBytesInUse(),
                after.requestedBytesInUse());
        live.keySet().forEach(allocator::free);
        final AllocatorStats end = allocator.stats();
        Expect.that(
                end.bytesInUse() == before.bytesInUse() && end.requestedBytesInUse() == before.requestedBytesInUse(),
                "after %d threads freed everything, bytesInUse is %d and requestedBytesInUse %d; they were %d and %d",
                THREADS,
                end.bytesInUse(),
                end.requestedBytesInUse(),
                before.bytesInUse(),
                before.requestedBytesInUse());
    }

    private static void requireTotal(String name, long now, long before, long calls) {
        Expect.that(
                now == before + calls || now == 0,
                "%d threads made %d such calls in all; %s went from %d to %d",
                THREADS,
                calls,
                name,
                before,
                now);
    }

    @ConformanceTest
    void required_A08_blocksOfEachSizeAreFreedByAnotherThread(Subject subject) throws Throwable {
        final Allocator allocator = subject.exclusive(Map.of());
        final boolean counts = subject.counts(allocator);
        final AllocatorStats before = counts ? allocator.stats() : AllocatorStats.NONE;
        long heldAtFirst = 0;
        for (int round = 0; round < subject.times(40, 12); round++) {
            final Map<Long, Long> live = new ConcurrentHashMap<>();
            Workers.run(platform(), 1, _ -> {
                for (long byteSize = 1; byteSize <= 4 * MIB; byteSize *= 2) {
                    live.put(allocator.alloc(byteSize), byteSize);
                    live.put(allocator.alloc(byteSize + byteSize / 2 + 1), byteSize);
                }
            });
            Workers.run(
                    round % 2 == 0 ? platform() : Thread.ofVirtual(),
                    1,
                    _ -> live.keySet().forEach(allocator::free));
            if (counts) {
                final AllocatorStats now = allocator.stats();
                Expect.that(
                        now.bytesInUse() == before.bytesInUse()
                                && now.requestedBytesInUse() == before.requestedBytesInUse(),
                        "another thread freed all blocks; bytesInUse is %d and requestedBytesInUse %d",
                        now.bytesInUse(),
                        now.requestedBytesInUse());
                heldAtFirst = round == 0 ? now.bytesHeld() : heldAtFirst;
                Expect.that(
                        now.bytesHeld() <= 3 * heldAtFirst + 64 * MIB,
                        "blocks were allocated by one thread and freed by another %d times; %d bytes are held, %d after"
                                + " the first time",
                        round + 1,
                        now.bytesHeld(),
                        heldAtFirst);
            }
        }
    }

    @ConformanceTest
    void stochastic_S03_whatThreadsHaveTogetherKeepsTheLimit(Subject subject) throws Throwable {
        raceForTheLimit(subject, false);
    }

    @ConformanceTest
    void stochastic_R01_reservesAndAllocationsTogetherKeepTheLimit(Subject subject) throws Throwable {
        raceForTheLimit(subject, true);
    }

    private static void raceForTheLimit(Subject subject, boolean reserves) throws Throwable {
        final Allocator allocator = subject.limited(4 * MIB);
        if (reserves) {
            subject.requireReserve(allocator);
        }
        final boolean counts = subject.counts(allocator);
        final long limit = subject.limitOf(allocator);
        final long byteSize = limit / 8 * 3;
        final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(subject.times(800, 120));
        final AtomicLong granted = new AtomicLong();
        Workers.run(platform(), THREADS, worker -> {
            for (int i = 0; System.nanoTime() < end; i++) {
                final long address;
                try {
                    address =
                            reserves && (worker + i) % 2 == 0 ? allocator.reserve(byteSize) : allocator.alloc(byteSize);
                } catch (OutOfMemoryException full) {
                    continue;
                }
                final long together = granted.addAndGet(byteSize);
                Expect.that(
                        together <= limit,
                        "threads have blocks of %d bytes together; the limit is %d",
                        together,
                        limit);
                granted.addAndGet(-byteSize);
                allocator.free(address);
            }
        });
        if (counts) {
            Expect.that(
                    allocator.stats().peakBytesHeld() <= limit,
                    "%d bytes were held within a limit of %d",
                    allocator.stats().peakBytesHeld(),
                    limit);
        }
    }

    @ConformanceTest
    void stochastic_C01_theFirstUseIsRaced(Subject subject) throws Throwable {
        for (int round = 0; round < subject.times(200, 40) && subject.hasTime(); round++) {
            final List<Allocator> created = Collections.synchronizedList(new ArrayList<>());
            final Owners owners = new Owners();
            Workers.run(platform(), THREADS, worker -> {
                final Allocator mine = subject.allocator(subject.boundedGrowth());
                created.add(mine);
                final List<Long> live = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    final long address = mine.alloc(3000);
                    owners.take(address, worker);
                    live.add(address);
                }
                for (final long address : live) {
                    owners.leave(address);
                    mine.free(address);
                }
            });
            for (final Allocator allocator : created) {
                allocator.free(allocator.alloc(100));
                subject.release(allocator);
            }
        }
    }

    @ConformanceTest
    void stochastic_S01_snapshotsAreOfOneMoment(Subject subject) throws Throwable {
        final Allocator allocator = subject.exclusive(subject.manyRegions());
        subject.stats(allocator);
        final boolean isArena = subject.isArena(allocator);
        final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(subject.times(1_000, 150));
        final Optional<ShrinkableAllocator> shrinkable = Subject.ifShrinkable(allocator);
        Workers.run(platform(), THREADS, worker -> {
            AllocatorStats last = allocator.stats();
            while (System.nanoTime() < end) {
                if (worker == 0) {
                    final AllocatorStats now = allocator.stats();
                    StatisticsCheck.fault(now, isArena)
                            .ifPresent(fault -> Expect.that(false, "while threads work, %s", fault));
                    final AllocatorStats before = last;
                    StatisticsCheck.fall(before, now)
                            .ifPresent(fault -> Expect.that(false, "while threads work, %s", fault));
                    last = now;
                } else if (worker == 1 && shrinkable.isPresent()) {
                    shrinkable.get().shrink();
                } else {
                    final long[] live = new long[24];
                    for (int i = 0; i < live.length; i++) {
                        live[i] = allocator.alloc(i % 4 == 0 ? 40_000 : 3_000);
                    }
                    for (final long address : live) {
                        allocator.free(address);
                    }
                }
            }
        });
    }
}
