package allocator.conformance.rules.regions;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.ShrinkableAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/** Chapters A and K: what is freed is used again, and goes back, whatever the size of its blocks. */
public abstract class ReuseRules extends Chapter {
    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;

    /** The rounds after which what is held has settled. */
    private static final int SETTLING_ROUNDS = 4;

    /** Sizes that allocators serve from different places, and how many blocks of them make several regions. */
    private static final Map<Long, Integer> BLOCKS =
            Map.of(48L, 4000, 1000L, 2000, 5000L, 200, 40 * KIB, 60, 700 * KIB, 12, 3 * MIB, 6);

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

    /** The most that may be held later for blocks that took {@code full}. */
    private static long bound(long full, long kept) {
        return 5 * full / 2 + 2 * kept + 128 * KIB;
    }

    @ConformanceTest
    void required_A10_gapsAmongLiveBlocksAreUsedAgain(Subject subject) {
        for (final long byteSize : BLOCKS.keySet()) {
            final Allocator allocator = subject.exclusive(subject.boundedGrowth());
            subject.stats(allocator);
            replaceHalves(subject, allocator, byteSize, () -> {}, "replaced");
            subject.release(allocator);
        }
    }

    /**
     * Replaces every other block in turn. An allocator that uses a region again when all of it is free has what it
     * needs after a few rounds; one that loses gaps needs more in every round.
     */
    private static void replaceHalves(
            Subject subject, Allocator allocator, long byteSize, Runnable between, String what) {
        final long kept = kept(allocator, byteSize);
        final List<Long> live = fill(allocator::alloc, byteSize, countOf(subject, byteSize));
        long settled = allocator.stats().bytesHeld();
        for (int round = 0; round < subject.times(60, 32) && subject.hasTime(); round++) {
            for (int i = round % 2; i < live.size(); i += 2) {
                allocator.free(live.get(i));
            }
            between.run();
            for (int i = round % 2; i < live.size(); i += 2) {
                live.set(i, allocator.alloc(byteSize));
            }
            final long now = allocator.stats().bytesHeld();
            settled = round <= SETTLING_ROUNDS ? Math.max(settled, now) : settled;
            Expect.that(
                    now <= bound(settled, kept),
                    "%d blocks of %d bytes are live, and half of them were %s %d times: %d bytes are held, %d at most"
                            + " in the first %d times",
                    live.size(),
                    byteSize,
                    what,
                    round + 1,
                    now,
                    settled,
                    SETTLING_ROUNDS + 1);
        }
        live.forEach(allocator::free);
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
}
