package allocator.conformance;

import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongUnaryOperator;

/** Chapter A: allocating and freeing, at the edges first. */
abstract class AllocationRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** More than any device has. */
    private static final long ABSURD = 1L << 50;

    private static final long[] IMPOSSIBLE = {-1, -256, Long.MIN_VALUE};
    private static final long[] OVERFLOWING = {Long.MAX_VALUE, Long.MAX_VALUE - 1, Long.MAX_VALUE - 62};

    AllocationRules(Kit kit) {
        super(kit);
    }

    /** Every way to allocate that an allocator has, by the name of its call. */
    private static Map<String, LongUnaryOperator> ways(Subject subject, Allocator allocator) {
        final Map<String, LongUnaryOperator> ways = new LinkedHashMap<>();
        ways.put("alloc", allocator::alloc);
        if (allocator.spiLevel() >= SpiLevel.RESERVE) {
            ways.put("reserve", allocator::reserve);
        }
        if (allocator instanceof StreamAwareAllocator streamAware
                && allocator.spiLevel() >= SpiLevel.STREAMS
                && subject.factory().isStreamAware(subject.memory())) {
            final SyncStream stream = subject.stream();
            ways.put("allocOnStream", byteSize -> streamAware.allocOnStream(byteSize, stream));
        }
        return ways;
    }

    @ConformanceTest
    void required_A01_negativeSizesAreRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        ways(subject, allocator).forEach((name, way) -> {
            for (final long byteSize : IMPOSSIBLE) {
                Expect.refusal(
                        InvalidSizeException.class, name + "(" + byteSize + ")", () -> way.applyAsLong(byteSize));
            }
        });
    }

    @ConformanceTest
    void required_A01_sizesWhoseRoundingOverflowsAreRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long one = allocator.alloc(1);
        final boolean rounds =
                allocator.spiLevel() >= SpiLevel.STATISTICS && allocator.stats().bytesInUse() > 1;
        allocator.free(one);
        ways(subject, allocator).forEach((name, way) -> {
            for (final long byteSize : OVERFLOWING) {
                final AllocatorException refusal = Expect.refusal(
                        AllocatorException.class, name + "(" + byteSize + ")", () -> way.applyAsLong(byteSize));
                Expect.that(
                        refusal instanceof InvalidSizeException
                                || ((!rounds || name.equals("reserve")) && refusal instanceof OutOfMemoryException),
                        "%s(%d) threw %s; the size cannot be rounded up, which is an InvalidSizeException",
                        name,
                        byteSize,
                        Expect.describe(refusal));
            }
        });
        allocator.free(allocator.alloc(1));
    }

    @ConformanceTest
    void required_A02_sizeZeroIsTheEmptyAllocation(Subject subject) {
        final Allocator allocator = subject.allocator();
        final boolean counts = subject.counts(allocator);
        final AllocatorStats before = counts ? allocator.stats() : AllocatorStats.NONE;
        ways(subject, allocator).forEach((name, way) -> {
            final long address = way.applyAsLong(0);
            Expect.that(address == 0, "%s(0) returned %s; the empty allocation is 0", name, Expect.hex(address));
        });
        allocator.free(0);
        allocator.free(0);
        Expect.that(
                !counts || allocator.stats().equals(before),
                "the empty allocation counts nowhere, yet the statistics went from %s to %s",
                before,
                counts ? allocator.stats() : before);
    }

    @ConformanceTest
    void required_A02_noOtherSizeYieldsZero(Subject subject) {
        final Allocator allocator = subject.allocator();
        ways(subject, allocator).forEach((name, way) -> {
            for (final long byteSize : new long[] {1, 255, MIB}) {
                final long address = way.applyAsLong(byteSize);
                Expect.that(
                        address != 0,
                        "%s(%d) returned 0, the empty allocation; a failure must be an exception",
                        name,
                        byteSize);
                allocator.free(address);
            }
            try {
                final long address = way.applyAsLong(ABSURD);
                Expect.that(
                        address != 0,
                        "%s(%d) returned 0, the empty allocation; a failure must be an exception",
                        name,
                        ABSURD);
                allocator.free(address);
            } catch (OutOfMemoryException expected) {
                Expect.that(expected.shortage().requested() == ABSURD, "%s", expected.getMessage());
            }
        });
    }

    @ConformanceTest
    void required_A03_liveAllocationsDoNotOverlap(Subject subject) {
        final Allocator allocator = subject.allocator();
        final Blocks blocks = new Blocks();
        final List<Long> addresses = new ArrayList<>();
        for (long byteSize = 1; byteSize <= 1023; byteSize++) {
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
        for (int i = 0; i < subject.settings().times(20_000, 2_000); i++) {
            if (live.size() > 200 || (!live.isEmpty() && random.nextInt(100) < 47)) {
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
        final int count = subject.settings().times(8_000, 2_000);
        for (int round = 0; round < 3; round++) {
            while (live.size() < count) {
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
        for (int round = 0; round < subject.settings().times(64, 8); round++) {
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
        ways(subject, allocator).forEach((name, way) -> {
            final List<Long> addresses = new ArrayList<>();
            for (final long byteSize : sizes) {
                if (byteSize > 0) {
                    final long address = way.applyAsLong(byteSize);
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
    void required_A05_exhaustionIsAnOutOfMemoryException(Subject subject) {
        final Allocator allocator = subject.allocator();
        ways(subject, allocator).forEach((name, way) -> {
            final OutOfMemoryException refusal = Expect.refusal(
                    OutOfMemoryException.class, name + "(" + ABSURD + ")", () -> way.applyAsLong(ABSURD));
            Expect.that(
                    refusal.shortage().requested() == ABSURD
                            && refusal.shortage().memory().isSameMemoryAs(allocator.info()),
                    "%s(%d) was refused with a shortage of %d bytes of %s",
                    name,
                    ABSURD,
                    refusal.shortage().requested(),
                    refusal.shortage().memory());
        });
    }

    @ConformanceTest
    void required_A05_theShortageTellsTheTruth(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long unit = subject.limitOf(allocator) / 16;
        final boolean counts = subject.counts(allocator);
        final List<Long> addresses = new ArrayList<>();
        OutOfMemoryException refusal = null;
        while (refusal == null) {
            Expect.that(addresses.size() <= 16, "17 blocks of a sixteenth of the limit were granted");
            try {
                addresses.add(allocator.alloc(unit));
            } catch (OutOfMemoryException e) {
                refusal = e;
            }
        }
        final OutOfMemoryException.Shortage shortage = refusal.shortage();
        Expect.that(
                shortage.requested() == unit && shortage.rounded() >= unit,
                "%d bytes were asked for; the shortage says %d requested, %d rounded",
                unit,
                shortage.requested(),
                shortage.rounded());
        if (counts) {
            final AllocatorStats stats = allocator.stats();
            requireTrue("limit", shortage.limit(), stats.limit());
            requireTrue("in use", shortage.inUse(), stats.bytesInUse());
            requireTrue("held", shortage.held(), stats.bytesHeld());
            Expect.that(
                    shortage.rounded() > stats.limit() - stats.bytesInUse(),
                    "%d bytes were refused with %d in use of a limit of %d, after equal blocks only: they fit",
                    unit,
                    stats.bytesInUse(),
                    stats.limit());
        }
        addresses.forEach(allocator::free);
    }

    private static void requireTrue(String what, long told, long real) {
        Expect.that(
                told == OutOfMemoryException.UNKNOWN || told == real,
                "the shortage says %s %d; the statistics say %d",
                what,
                told,
                real);
    }

    @ConformanceTest
    void required_A05_whatFitsTheLimitIsGranted(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long unit = subject.limitOf(allocator) / 16;
        for (int round = 0; round < 3; round++) {
            final long address;
            try {
                address = allocator.alloc(16 * unit);
            } catch (OutOfMemoryException e) {
                throw Expect.broken(
                        "nothing is live, yet the whole limit was refused in round " + (round + 1) + ": "
                                + e.getMessage(),
                        e);
            }
            allocator.free(address);
        }
    }

    @ConformanceTest
    void required_A05_freedNeighboursServeALargeRequest(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long limit = subject.limitOf(allocator);
        final SplittableRandom random = subject.random("A-05");
        allocator.free(allocator.alloc(limit));
        for (int round = 0; round < 4; round++) {
            final long byteSize = round % 2 == 0 ? 8192 : 1L << 18;
            final List<Long> live = new ArrayList<>();
            for (long taken = 0; taken + byteSize <= limit; taken += byteSize) {
                try {
                    live.add(allocator.alloc(byteSize));
                } catch (OutOfMemoryException e) {
                    throw Expect.broken(
                            taken + " bytes of a limit of " + limit + " are live, in blocks of " + byteSize
                                    + "; one more was refused: " + e.getMessage(),
                            e);
                }
            }
            while (!live.isEmpty()) {
                allocator.free(live.remove(random.nextInt(live.size())));
            }
            try {
                allocator.free(allocator.alloc(limit));
            } catch (OutOfMemoryException e) {
                throw Expect.broken(
                        "the limit was filled by blocks of " + byteSize
                                + " bytes and all of them were freed; then the whole"
                                + " limit was refused, as if it were in pieces: " + e.getMessage(),
                        e);
            }
        }
    }

    @ConformanceTest
    void required_A05_aSmallLimitStillServesWhatFits(Subject subject) {
        final Allocator allocator = subject.limited(64 * 1024);
        for (final long byteSize : new long[] {1, 1000, 20_000, 64 * 1024}) {
            try {
                allocator.free(allocator.alloc(byteSize));
            } catch (OutOfMemoryException e) {
                throw Expect.broken(
                        "nothing is live and the limit is " + subject.limitOf(allocator) + " bytes, yet " + byteSize
                                + " were refused: what is taken from the device at once must not exceed the limit",
                        e);
            }
        }
    }

    @ConformanceTest
    void required_A06_aDoubleFreeIsRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long kept = allocator.alloc(4096);
        final long freed = allocator.alloc(4096);
        final long other = allocator.alloc(4096);
        allocator.free(freed);
        Expect.refusal(InvalidFreeException.class, "a second free of the same block", () -> allocator.free(freed));
        allocator.free(other);
        Expect.refusal(
                InvalidFreeException.class, "a second free, after a neighbour was freed,", () -> allocator.free(freed));
        allocator.free(kept);
    }

    @ConformanceTest
    void required_A06_aFreeInsideABlockIsRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long address = allocator.alloc(8192);
        for (final long offset : new long[] {1, 256, 4096, 8191}) {
            Expect.refusal(
                    InvalidFreeException.class,
                    "free of an address " + offset + " bytes inside a live block",
                    () -> allocator.free(address + offset));
        }
        allocator.free(address);
    }

    @ConformanceTest
    void required_A06_aForeignAddressIsRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long address = allocator.alloc(64);
        for (final long foreign : new long[] {1, 4096, -1, Long.MAX_VALUE, Long.MIN_VALUE, address + (1L << 40)}) {
            Expect.refusal(
                    InvalidFreeException.class,
                    "free of " + Expect.hex(foreign) + ", which was never handed out,",
                    () -> allocator.free(foreign));
        }
        allocator.free(address);
    }

    @ConformanceTest
    void required_A06_aRefusedFreeChangesNothing(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long kept = allocator.alloc(5000);
        final AllocatorStats before = subject.stats(allocator);
        for (final long wrong : new long[] {kept + 1, 4096, kept + (1L << 40)}) {
            Expect.refusal(InvalidFreeException.class, "free of a wrong address", () -> allocator.free(wrong));
        }
        Expect.that(
                allocator.stats().equals(before),
                "refused frees changed the statistics from %s to %s",
                before,
                allocator.stats());
        allocator.free(kept);
    }

    @ConformanceTest
    void required_A07_afterAFailureEverythingIsAsBefore(Subject subject) {
        final Allocator allocator = subject.allocator();
        final boolean counts = subject.counts(allocator);
        final Blocks blocks = new Blocks();
        final long live = allocator.alloc(5000);
        blocks.add(live, 5000);
        Contents.of(subject, allocator).ifPresent(contents -> contents.fill(live, 5000, 7));
        final AllocatorStats before = counts ? allocator.stats() : AllocatorStats.NONE;
        final Map<String, Runnable> failures = new LinkedHashMap<>();
        failures.put("alloc(-1)", () -> allocator.alloc(-1));
        failures.put("an alloc of 2^50 bytes", () -> allocator.alloc(ABSURD));
        failures.put("a reserve of 2^50 bytes", () -> allocator.reserve(ABSURD));
        failures.forEach((name, failure) -> {
            try {
                failure.run();
            } catch (AllocatorException expected) {
                Expect.that(expected.getMessage() != null, "%s failed without a message", name);
            }
            Contents.of(subject, allocator)
                    .ifPresent(contents -> contents.verify(live, 5000, 7, "after " + name + " failed,"));
            final long next = allocator.alloc(5000);
            blocks.add(next, 5000);
            blocks.remove(next);
            allocator.free(next);
            if (counts) {
                final AllocatorStats now = allocator.stats();
                Expect.that(
                        now.bytesInUse() == before.bytesInUse()
                                && now.requestedBytesInUse() == before.requestedBytesInUse(),
                        "after %s failed, %d bytes are in use for %d requested; before, it was %d for %d",
                        name,
                        now.bytesInUse(),
                        now.requestedBytesInUse(),
                        before.bytesInUse(),
                        before.requestedBytesInUse());
            }
        });
        allocator.free(live);
    }

    @ConformanceTest
    void required_A07_afterTheLimitWasHitEverythingWorks(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long unit = subject.limitOf(allocator) / 16;
        final List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            addresses.add(allocator.alloc(unit));
        }
        for (int i = 0; i < 20; i++) {
            Expect.refusal(
                    OutOfMemoryException.class,
                    "alloc of 12 sixteenths of the limit with 8 in use",
                    () -> allocator.alloc(12 * unit));
        }
        for (int i = 0; i < 8; i++) {
            try {
                allocator.free(addresses.set(i, allocator.alloc(unit)));
            } catch (OutOfMemoryException e) {
                throw Expect.broken(
                        "after refused requests, a sixteenth of the limit was refused with 8 in use: " + e.getMessage(),
                        e);
            }
        }
        addresses.forEach(allocator::free);
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
        final Allocator allocator = subject.allocator();
        final boolean counts = subject.counts(allocator);
        long held = 0;
        for (final long byteSize : new long[] {1000, 300_000, 3 * MIB}) {
            for (int i = 0; i < subject.settings().times(2000, 200); i++) {
                allocator.free(allocator.alloc(byteSize));
                if (i == 10) {
                    held = counts ? allocator.stats().bytesHeld() : 0;
                }
            }
            Expect.that(
                    !counts || allocator.stats().bytesHeld() <= held,
                    "allocating and freeing %d bytes in turn held %d bytes after 10 rounds and %d at the end",
                    byteSize,
                    held,
                    counts ? allocator.stats().bytesHeld() : 0);
        }
    }

    @ConformanceTest
    void required_A10_theLimitIsNotUsedUpByFreedMemory(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long unit = subject.limitOf(allocator) / 16;
        for (int i = 0; i < subject.settings().times(2000, 200); i++) {
            final int round = i;
            try {
                allocator.free(allocator.alloc(5 * unit));
            } catch (OutOfMemoryException e) {
                throw Expect.broken(
                        "5 sixteenths of the limit were allocated and freed " + round + " times, then refused: "
                                + e.getMessage(),
                        e);
            }
        }
    }
}
