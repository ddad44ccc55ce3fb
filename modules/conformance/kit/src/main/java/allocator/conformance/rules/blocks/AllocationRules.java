package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Workers;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Chapter A: sizes, alignment, contents and reuse of blocks. */
public abstract class AllocationRules extends Chapter {
    private static final long MIB = 1 << 20;

    private static final long[] IMPOSSIBLE = {-1, -256, Long.MIN_VALUE};

    /** After so many rounds without growth, what an allocator keeps of freed memory has reached its bound. */
    private static final int QUIET_ROUNDS = 64;

    /** As many, where the test has no time for more. */
    private static final int QUIET_LATE = 4;

    /** The most that an allocator may keep of freed blocks of one size before it uses them again. */
    private static final long MOST_KEPT = 256 * MIB;

    @ConformanceTest
    void required_A01_negativeSizesAreRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            for (final long byteSize : IMPOSSIBLE) {
                Expect.rejection(
                        InvalidSizeException.class, name + "(" + byteSize + ")", () -> call.applyAsLong(byteSize));
            }
        });
    }

    /** Whether rounding overflows depends on the allocator, so a shortage is right as well. */
    @ConformanceTest
    void required_A01_sizesWhoseRoundingOverflowsAreRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            for (final long less : new long[] {0, 1, 62, 255, 256, 4095, 4096, MIB, 1L << 40}) {
                final String request = name + "(" + (Long.MAX_VALUE - less) + ")";
                final AllocatorException rejection = Expect.rejection(
                        AllocatorException.class, request, () -> call.applyAsLong(Long.MAX_VALUE - less));
                Expect.that(
                        rejection instanceof InvalidSizeException || rejection instanceof OutOfMemoryException,
                        "%s threw %s",
                        request,
                        Expect.describe(rejection));
            }
        });
        allocator.free(allocator.alloc(1));
    }

    /** Sizes that no rounding overflows, to a power of two or with a header, are requests that no device fits. */
    @ConformanceTest
    void required_A01_largeSizesThatCanBeRoundedAreShortages(Subject subject) {
        final Allocator allocator = subject.allocator();
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            for (final long byteSize : new long[] {1L << 56, (1L << 60) + 1, (1L << 61) - 1, 1L << 61}) {
                Expect.rejection(
                        OutOfMemoryException.class, name + "(" + byteSize + ")", () -> call.applyAsLong(byteSize));
            }
        });
    }

    @ConformanceTest
    void required_A02_sizeZeroIsTheEmptyAllocation(Subject subject) {
        final Allocator allocator = subject.allocator();
        final boolean counts = subject.counts(allocator);
        final AllocatorStats before = counts ? allocator.stats() : AllocatorStats.NONE;
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            final long address = call.applyAsLong(0);
            Expect.that(address == 0, "%s(0) returned %s; the empty allocation is 0", name, Expect.hex(address));
        });
        allocator.free(0);
        allocator.free(0);
        if (counts) {
            subject.requireSame(
                    before, allocator.stats(), "the empty allocation counts nowhere, yet it changed the statistics");
        }
    }

    @ConformanceTest
    void required_A02_noOtherSizeYieldsZero(Subject subject) {
        final Allocator allocator = subject.allocator();
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            for (final long byteSize : new long[] {1, 255, MIB}) {
                final long address = call.applyAsLong(byteSize);
                Expect.that(
                        address != 0,
                        "%s(%d) returned 0, the empty allocation; a failure must be an exception",
                        name,
                        byteSize);
                allocator.free(address);
            }
        });
    }

    @ConformanceTest
    void required_A03_liveAllocationsDoNotOverlap(Subject subject) {
        final Allocator allocator = subject.allocator();
        final Blocks blocks = new Blocks();
        final List<Long> addresses = new ArrayList<>();
        for (long byteSize = 1; byteSize <= subject.mostLive(1023); byteSize++) {
            final long address = allocator.alloc(byteSize);
            blocks.add(address, byteSize);
            addresses.add(address);
        }
        addresses.forEach(allocator::free);
    }

    @ConformanceTest
    void required_A03_blocksFromFreedMemoryDoNotOverlap(Subject subject) {
        final Allocator allocator = subject.allocator();
        final SplittableRandom random = subject.random("A-03");
        final Blocks blocks = new Blocks();
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < subject.times(20_000, 2_000) && subject.hasTime(); i++) {
            if (live.size() >= subject.mostLive(200) || (!live.isEmpty() && random.nextInt(100) < 47)) {
                final long address = live.remove(random.nextInt(live.size()));
                blocks.remove(address);
                allocator.free(address);
            } else {
                final long byteSize = 1 + random.nextLong(1L << random.nextInt(1, 17));
                final long address = allocator.alloc(byteSize);
                blocks.add(address, byteSize);
                live.add(address);
            }
        }
        live.forEach(allocator::free);
    }

    @ConformanceTest
    void required_A03_blocksFromThousandsOfGapsDoNotOverlap(Subject subject) {
        final Allocator allocator = subject.allocator();
        final SplittableRandom random = subject.random("A-03 gaps");
        final Blocks blocks = new Blocks();
        final List<Long> live = new ArrayList<>();
        final int count = subject.mostLive(subject.times(8_000, 2_000));
        for (int round = 0; round < 3; round++) {
            while (live.size() < count && subject.hasTime()) {
                final long byteSize = 1 + random.nextLong(random.nextBoolean() ? 1_000 : 20_000);
                final long address = allocator.alloc(byteSize);
                blocks.add(address, byteSize);
                live.add(address);
            }
            while (live.size() > count / (round + 2)) {
                final int index = random.nextInt(live.size());
                final long address = live.set(index, live.getLast());
                live.removeLast();
                blocks.remove(address);
                allocator.free(address);
            }
        }
        live.forEach(allocator::free);
    }

    @ConformanceTest
    void required_A03_coalescedNeighboursDoNotOverlap(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long[] sizes = {4096, 2 * MIB, 16384, 4 * MIB};
        for (int round = 0; round < subject.times(64, 8) && subject.hasTime(); round++) {
            final Blocks blocks = new Blocks();
            final List<Long> addresses = new ArrayList<>();
            for (final long byteSize : sizes) {
                final long address = allocator.alloc(byteSize);
                blocks.add(address, byteSize);
                addresses.add(address);
            }
            for (int i = 0; i < addresses.size(); i++) {
                allocator.free(addresses.get((i * 3 + round) % addresses.size()));
            }
        }
    }

    @ConformanceTest
    void required_A04_everyAllocationIsAligned(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long alignment = allocator.info().byteAlignment();
        final long[] sizes = {
            1,
            2,
            7,
            alignment - 1,
            alignment,
            alignment + 1,
            3 * alignment + 5,
            1000,
            65537,
            MIB + 1,
            3 * MIB + 17,
            32 * MIB + 1
        };
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            final List<Long> addresses = new ArrayList<>();
            for (final long byteSize : sizes) {
                if (byteSize > 0) {
                    final long address = call.applyAsLong(byteSize);
                    Expect.that(
                            address % alignment == 0,
                            "%s(%d) returned %s, which is no multiple of the alignment %d",
                            name,
                            byteSize,
                            Expect.hex(address),
                            alignment);
                    addresses.add(address);
                }
            }
            addresses.forEach(allocator::free);
        });
    }

    @ConformanceTest
    void required_A08_anotherThreadMayFree(Subject subject) throws Throwable {
        final Allocator allocator = subject.allocator();
        for (final Thread.Builder builder : List.of(Thread.ofPlatform().daemon(), Thread.ofVirtual())) {
            final AtomicLong address = new AtomicLong();
            Workers.run(builder, 1, _ -> address.set(allocator.alloc(3000)));
            Workers.run(builder, 1, _ -> allocator.free(address.get()));
        }
        final long own = allocator.alloc(3000);
        Workers.run(Thread.ofVirtual(), 1, _ -> allocator.free(own));
    }

    @ConformanceTest
    void required_A09_everyByteIsUsableAndKept(Subject subject) {
        final Allocator allocator = subject.allocator();
        final Contents contents = subject.contents(allocator);
        final long[] sizes = {1, 3, 8, 255, 256, 257, 4095, 65536, MIB + 3, 777};
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < sizes.length; i++) {
            final long address = allocator.alloc(sizes[i]);
            contents.fill(address, sizes[i], i);
            addresses.add(address);
        }
        for (int i = 0; i < sizes.length; i += 2) {
            allocator.free(addresses.get(i));
        }
        for (int i = 1; i < sizes.length; i += 2) {
            contents.verify(addresses.get(i), sizes[i], i, "a live block changed when its neighbours were freed:");
        }
        for (int i = 0; i < sizes.length; i += 2) {
            final long address = allocator.alloc(sizes[i]);
            contents.fill(address, sizes[i], 100 + i);
            addresses.set(i, address);
        }
        for (int i = 0; i < sizes.length; i++) {
            contents.verify(
                    addresses.get(i),
                    sizes[i],
                    i % 2 == 0 ? 100 + i : i,
                    "a live block changed under other allocations:");
        }
        addresses.forEach(allocator::free);
    }

    @ConformanceTest
    void required_A10_freedMemoryBecomesAvailableAgain(Subject subject) {
        final Allocator allocator = subject.allocator(subject.boundedGrowth());
        final boolean counts = subject.counts(allocator);
        long held = 0;
        for (final long byteSize : new long[] {1000, 300_000, 3 * MIB}) {
            for (int i = 0; i < subject.times(2000, 200) && subject.hasTime(); i++) {
                allocator.free(allocator.alloc(byteSize));
                if (i == 10) {
                    held = counts ? allocator.stats().bytesHeld() : 0;
                }
            }
            if (counts) {
                requireBound(subject, allocator, byteSize, held);
            }
        }
    }

    /**
     * Allows memory to be kept for a while before it is used again, as long as that has a bound. A slow device, which
     * has used up the time by now, is asked for a few rounds more.
     */
    private static void requireBound(Subject subject, Allocator allocator, long byteSize, long heldAtFirst) {
        long held = heldAtFirst;
        int quiet = 0;
        int late = 0;
        while (quiet < (late == 0 ? QUIET_ROUNDS : QUIET_LATE)
                && late < QUIET_ROUNDS
                && held - heldAtFirst < MOST_KEPT) {
            allocator.free(allocator.alloc(byteSize));
            final long now = allocator.stats().bytesHeld();
            quiet = now <= held ? quiet + 1 : 0;
            held = Math.max(held, now);
            late = subject.hasTime() ? late : late + 1;
        }
        Expect.that(
                quiet >= (late == 0 ? QUIET_ROUNDS : QUIET_LATE),
                "allocating and freeing %d bytes in turn held %d bytes after 10 rounds and %d at the end, without a"
                        + " bound",
                byteSize,
                heldAtFirst,
                held);
    }

    @ConformanceTest
    void required_A10_theLimitIsNotUsedUpByFreedMemory(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long unit = subject.limitOf(allocator) / 16;
        for (int i = 0; i < subject.times(2000, 200) && subject.hasTime(); i++) {
            final int round = i;
            try {
                allocator.free(allocator.alloc(5 * unit));
            } catch (OutOfMemoryException e) {
                throw Expect.failure(
                        "5 sixteenths of the limit were allocated and freed " + round
                                + " times; the next request failed: " + e.getMessage(),
                        e);
            }
        }
    }
}
