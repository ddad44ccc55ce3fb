package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.LongUnaryOperator;

/** Chapter S: every counter, compared exactly after programs whose effects are known. */
public abstract class CounterRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** Returns an allocator that no other user has, which counts. */
    private static Allocator counting(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        subject.stats(allocator);
        return allocator;
    }

    private static void requireCounter(String name, long now, long expected, String after) {
        Expect.that(now == expected, "after %s, %s is %d instead of %d", after, name, now, expected);
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
}
