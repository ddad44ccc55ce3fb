package allocator.conformance.rules;

import allocator.conformance.subject.Expect;
import allocator.conformance.subject.ProviderFixture;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Chapters A and K: what is freed is used again, and goes back, whatever the size of its blocks. */
public abstract class ReuseRules extends Chapter {
    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;

    /** Sizes that allocators serve from different places, and how many blocks of them make several regions. */
    private static final Map<Long, Integer> BLOCKS =
            Map.of(48L, 4000, 1000L, 2000, 5000L, 200, 40 * KIB, 60, 700 * KIB, 12, 3 * MIB, 6);

    protected ReuseRules(ProviderFixture fixture) {
        super(fixture);
    }

    private static int countOf(Subject subject, long byteSize) {
        final int count = BLOCKS.getOrDefault(byteSize, 0);
        return subject.mostLive(count > 100 ? subject.times(count, count / 2) : count);
    }

    private static List<Long> fill(LongUnaryOperator call, long byteSize, int count) {
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            live.add(call.applyAsLong(byteSize));
        }
        return live;
    }

    /** Returns how much the allocator keeps of freed blocks before it uses them again. */
    private static long kept(Allocator allocator, long byteSize) {
        final long first = allocator.stats().bytesHeld();
        long held = first;
        for (int quiet = 0; quiet < 64 && held - first < 64 * MIB; quiet++) {
            allocator.free(allocator.alloc(byteSize));
            final long now = allocator.stats().bytesHeld();
            if (now > held) {
                held = now;
                quiet = 0;
            }
        }
        return held - first;
    }

    /** The most that may be held for blocks that took {@code full} at first. */
    private static long bound(long full, long kept) {
        return 5 * full / 2 + 2 * kept + 128 * KIB;
    }

    @ConformanceTest
    void required_A10_gapsAmongLiveBlocksAreUsedAgain(Subject subject) {
        for (final long byteSize : BLOCKS.keySet()) {
            final Allocator allocator = subject.exclusive(Map.of());
            subject.stats(allocator);
            final SplittableRandom random = subject.random("A-10 gaps");
            final long kept = kept(allocator, byteSize);
            final List<Long> live = fill(allocator::alloc, byteSize, countOf(subject, byteSize));
            final long full = allocator.stats().bytesHeld();
            for (int round = 0; round < subject.times(12, 8) && subject.hasTime(); round++) {
                final List<Integer> gaps = new ArrayList<>();
                for (int i = 0; i < live.size(); i++) {
                    if (random.nextBoolean()) {
                        allocator.free(live.get(i));
                        gaps.add(i);
                    }
                }
                gaps.forEach(gap -> live.set(gap, allocator.alloc(byteSize)));
                final long now = allocator.stats().bytesHeld();
                Expect.that(
                        now <= bound(full, kept),
                        "%d blocks of %d bytes are live, and half of them were replaced %d times: %d bytes are held, %d"
                                + " were before",
                        live.size(),
                        byteSize,
                        round + 1,
                        now,
                        full);
            }
            live.forEach(allocator::free);
            subject.release(allocator);
        }
    }

    @ConformanceTest
    void required_K04_gapsAreUsedAfterAShrink(Subject subject) {
        for (final long byteSize : BLOCKS.keySet()) {
            final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(Map.of()));
            subject.stats(allocator);
            final SplittableRandom random = subject.random("K-04 gaps");
            final long kept = kept(allocator, byteSize);
            final List<Long> live = fill(allocator::alloc, byteSize, countOf(subject, byteSize));
            final long full = allocator.stats().bytesHeld();
            for (int round = 0; round < subject.times(12, 8) && subject.hasTime(); round++) {
                final List<Integer> gaps = new ArrayList<>();
                for (int i = 0; i < live.size(); i++) {
                    if (random.nextBoolean()) {
                        allocator.free(live.get(i));
                        gaps.add(i);
                    }
                }
                allocator.shrink();
                gaps.forEach(gap -> live.set(gap, allocator.alloc(byteSize)));
                Expect.that(
                        allocator.stats().bytesHeld() <= bound(full, kept),
                        "half of %d blocks of %d bytes were freed, the allocator shrunk, and as many allocated:"
                                + " %d bytes are held, %d were before",
                        live.size(),
                        byteSize,
                        allocator.stats().bytesHeld(),
                        full);
            }
            live.forEach(allocator::free);
            subject.release(allocator);
        }
    }

    @ConformanceTest
    void required_K02_regionsOfEachSizeGoBack(Subject subject) {
        final ShrinkableAllocator any = subject.shrinkable(subject.exclusive(Map.of()));
        subject.requireArena(any);
        for (final Map<String, String> options : List.of(Map.<String, String>of(), subject.manyRegions())) {
            for (final long byteSize : BLOCKS.keySet()) {
                final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(options));
                requireEmpty(subject, allocator, allocator::alloc, byteSize, () -> {}, "");
                subject.release(allocator);
            }
        }
    }

    @ConformanceTest
    void required_K02_regionsOfStreamsGoBack(Subject subject) {
        final ShrinkableAllocator any = subject.shrinkable(subject.exclusive(Map.of()));
        subject.requireArena(any);
        Subject.requireOwnOrder(subject.streamAware(any));
        final Map<String, Consumer<SyncStream>> ends = Map.of(
                "was closed",
                SyncStream::close,
                "ended a run",
                SyncStream::onSessionRunEnd,
                "was flushed",
                SyncStream::flush);
        for (final Map.Entry<String, Consumer<SyncStream>> end : ends.entrySet()) {
            for (final long byteSize : BLOCKS.keySet()) {
                final StreamAwareAllocator allocator = subject.streamAware(subject.exclusive(subject.manyRegions()));
                final SyncStream stream = subject.stream();
                requireEmpty(
                        subject,
                        subject.shrinkable(allocator),
                        size -> allocator.allocOnStream(size, stream),
                        byteSize,
                        () -> end.getValue().accept(stream),
                        " on a stream that " + end.getKey());
                subject.release(allocator);
            }
        }
    }

    /** Fills several regions and frees all, a few times; fails unless a shrink leaves one region at most. */
    private static void requireEmpty(
            Subject subject,
            ShrinkableAllocator allocator,
            LongUnaryOperator call,
            long byteSize,
            Runnable between,
            String where) {
        final List<Long> live = fill(call, byteSize, Math.min(countOf(subject, byteSize), 1500));
        live.forEach(allocator::free);
        between.run();
        final long regions = allocator.stats().numArenaExtensions();
        allocator.shrink();
        final AllocatorStats after = allocator.stats();
        Expect.that(
                after.numArenaExtensions() <= 1,
                "%d blocks of %d bytes were allocated%s and freed, and the arena was shrunk; of %d regions %d are still"
                        + " held, with %d bytes",
                live.size(),
                byteSize,
                where,
                regions,
                after.numArenaExtensions(),
                after.bytesHeld());
        Expect.that(
                after.numArenaExtensions() > 0 || after.bytesHeld() == 0,
                "no region is held, and nothing is live; bytesHeld is %d",
                after.bytesHeld());
    }

    @ConformanceTest
    void required_K02_eachCycleEndsAsTheFirst(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(subject.manyRegions()));
        subject.stats(allocator);
        AllocatorStats first = AllocatorStats.NONE;
        for (int cycle = 0; cycle < subject.times(30, 8) && subject.hasTime(); cycle++) {
            final List<Long> live = new ArrayList<>();
            for (final long byteSize : BLOCKS.keySet()) {
                live.addAll(fill(allocator::alloc, byteSize, Math.min(countOf(subject, byteSize), 150)));
            }
            live.forEach(allocator::free);
            allocator.shrink();
            final AllocatorStats now = allocator.stats();
            first = cycle == 0 ? now : first;
            Expect.that(
                    now.bytesInUse() == 0 && now.requestedBytesInUse() == 0,
                    "everything is freed and shrunk; the statistics are %s",
                    now);
            Expect.that(
                    (now.bytesHeld() <= first.bytesHeld() && now.numArenaExtensions() <= first.numArenaExtensions())
                            || (now.bytesHeld() <= first.bytesHeld() + MIB / 16 && now.numArenaExtensions() == 1)
                            || (now.numArenaExtensions() == 0 && now.bytesHeld() <= 2 * first.bytesHeld() + MIB),
                    "the same blocks were allocated, freed and shrunk %d times; %d bytes in %d regions are held, after"
                            + " the first time it was %d in %d",
                    cycle + 1,
                    now.bytesHeld(),
                    now.numArenaExtensions(),
                    first.bytesHeld(),
                    first.numArenaExtensions());
        }
    }
}
