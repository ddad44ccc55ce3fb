package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** Chapter A: exhaustion is reported truthfully, and after any failure the allocator works as before. */
public abstract class ExhaustionRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** More bytes than any device has. */
    private static final long ABSURD = 1L << 50;

    @ConformanceTest
    void required_A05_exhaustionIsAnOutOfMemoryException(Subject subject) {
        final Allocator allocator = subject.allocator();
        final boolean counts = subject.counts(allocator);
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            final OutOfMemoryException failure = Expect.rejection(
                    OutOfMemoryException.class, name + "(" + ABSURD + ")", () -> call.applyAsLong(ABSURD));
            Expect.that(
                    failure.shortage().requested() == ABSURD
                            && failure.shortage().memory().isSameMemoryAs(allocator.info()),
                    "%s(%d) failed with a shortage of %d bytes of %s",
                    name,
                    ABSURD,
                    failure.shortage().requested(),
                    failure.shortage().memory());
            requireLimit(allocator, counts, failure.shortage().limit());
        });
    }

    private static void requireLimit(Allocator allocator, boolean counts, long limit) {
        Expect.that(
                limit == OutOfMemoryException.UNKNOWN
                        || limit == AllocatorStats.UNLIMITED
                        || (limit > 0 && (!counts || limit == allocator.stats().limit())),
                "a shortage gives the limit %d; %s",
                limit,
                counts ? "that of the statistics is " + allocator.stats().limit() : "there is none");
    }

    @ConformanceTest
    void required_A05_theShortageTellsTheTruth(Subject subject) {
        // Another one is asked: an arena may keep a region for what was asked of it.
        final Allocator any = subject.allocator();
        final boolean anyCounts = subject.counts(any);
        subject.release(any);
        final Allocator allocator = subject.limited(16 * MIB);
        final boolean counts = anyCounts && allocator.spiLevel() >= SpiLevel.STATISTICS;
        final long unit = subject.limitOf(allocator) / 16;
        final List<Long> addresses = new ArrayList<>();
        OutOfMemoryException failure = null;
        while (failure == null) {
            Expect.that(addresses.size() <= 16, "17 blocks of a sixteenth of the limit were granted");
            try {
                addresses.add(allocator.alloc(unit));
            } catch (OutOfMemoryException e) {
                failure = e;
            }
        }
        final OutOfMemoryException.Shortage shortage = failure.shortage();
        Expect.that(
                shortage.requested() == unit
                        && (shortage.rounded() >= unit || shortage.rounded() == OutOfMemoryException.UNKNOWN),
                "%d bytes were requested; the shortage says %d requested, %d rounded",
                unit,
                shortage.requested(),
                shortage.rounded());
        if (counts) {
            final AllocatorStats stats = allocator.stats();
            requireTrue("limit", shortage.limit(), stats.limit());
            requireTrue("in use", shortage.inUse(), stats.bytesInUse());
            requireTrue("held", shortage.held(), stats.bytesHeld());
            // Rounding to a power of two takes less than twice the size.
            final long rounded = shortage.rounded() == OutOfMemoryException.UNKNOWN ? 2 * unit : shortage.rounded();
            // Behind its last block each region of an arena may have a rest that is smaller than a block.
            final long rests = Math.min(stats.freeBytes(), stats.numArenaExtensions() * (rounded - 1));
            Expect.that(
                    rounded > stats.limit() - stats.bytesInUse() - rests,
                    "a request of %d bytes failed with %d in use and %d held of a limit of %d, after equal blocks"
                            + " only: it fits",
                    unit,
                    stats.bytesInUse(),
                    stats.bytesHeld(),
                    stats.limit());
        }
        addresses.forEach(allocator::free);
    }

    private static void requireTrue(String what, long reported, long counted) {
        Expect.that(
                reported == OutOfMemoryException.UNKNOWN || reported == counted,
                "the shortage says %s %d; the statistics say %d",
                what,
                reported,
                counted);
    }

    @ConformanceTest
    void required_A05_whatFitsTheLimitIsGranted(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long largest = subject.largestOf(allocator);
        for (int round = 0; round < 3; round++) {
            final long address;
            try {
                address = allocator.alloc(largest);
            } catch (OutOfMemoryException e) {
                throw Expect.failure(
                        "nothing is live, yet a request of the whole limit failed in round " + (round + 1) + ": "
                                + e.getMessage(),
                        e);
            }
            allocator.free(address);
        }
    }

    @ConformanceTest
    void required_A05_freedNeighboursServeALargeRequest(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long limit = subject.largestOf(allocator);
        final SplittableRandom random = subject.random("A-05");
        allocator.free(allocator.alloc(limit));
        for (int round = 0; round < 4; round++) {
            final long byteSize =
                    Math.max(round % 2 == 0 ? 8192 : 1L << 18, subject.memory().byteAlignment());
            final List<Long> live = fill(allocator, limit, byteSize);
            while (!live.isEmpty()) {
                allocator.free(live.remove(random.nextInt(live.size())));
            }
            try {
                allocator.free(allocator.alloc(limit));
            } catch (OutOfMemoryException e) {
                throw Expect.failure(
                        "the limit was filled by blocks of " + byteSize
                                + " bytes and all of them were freed; then a request"
                                + " of the whole limit failed, as if it were fragmented: " + e.getMessage(),
                        e);
            }
        }
    }

    /** What each block, request or stream loses is less than any block here, so many of them add up. */
    @ConformanceTest
    void required_A05_afterBlocksOfRandomSizesTheWholeLimitIsGranted(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long limit = subject.largestOf(allocator);
        allocator.free(allocator.alloc(limit));
        churn(subject, allocator, limit);
        try {
            allocator.free(allocator.alloc(limit));
        } catch (OutOfMemoryException first) {
            Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink);
            try {
                allocator.free(allocator.alloc(limit));
            } catch (OutOfMemoryException e) {
                throw Expect.failure(
                        "after blocks of random sizes nothing is live, yet a request of the whole limit failed, as"
                                + " if a part of it were lost: " + e.getMessage(),
                        e);
            }
        }
    }

    /** Allocates and frees, on a stream too, with requests that fail in between; nothing is live at the end. */
    private static void churn(Subject subject, Allocator allocator, long limit) {
        final SplittableRandom random = subject.random("A-05, random sizes");
        final Optional<StreamAwareAllocator> onStreams = subject.ifStreamAware(allocator);
        final SyncStream stream = onStreams.isPresent() ? subject.stream() : null;
        final List<Long> live = new ArrayList<>();
        final int calls = subject.times(40_000, 6_000);
        for (int i = 0; i < calls && subject.hasTime(); i++) {
            if (live.size() > 100 || (!live.isEmpty() && random.nextBoolean())) {
                allocator.free(live.remove(random.nextInt(live.size())));
                continue;
            }
            final long byteSize = i % 500 == 0 ? limit : 1 + random.nextInt(1 << random.nextInt(4, 17));
            try {
                live.add(
                        stream != null && random.nextInt(8) == 0
                                ? onStreams.orElseThrow().allocOnStream(byteSize, stream)
                                : allocator.alloc(byteSize));
            } catch (OutOfMemoryException full) {
                final OutOfMemoryException.Shortage shortage = full.shortage();
                Expect.that(shortage.requested() == byteSize, "%s", full.getMessage());
                Expect.that(
                        shortage.held() == OutOfMemoryException.UNKNOWN || shortage.inUse() <= shortage.held(),
                        "more is in use than is held: %s",
                        full.getMessage());
            }
            if (stream != null && i % 1000 == 0) {
                stream.onSessionRunEnd();
            }
        }
        live.forEach(allocator::free);
        if (stream != null) {
            stream.onSessionRunEnd();
            stream.close();
        }
    }

    /** Fills the limit with blocks, which may take up to twice their size. */
    private static List<Long> fill(Allocator allocator, long limit, long byteSize) {
        final List<Long> live = new ArrayList<>();
        while ((live.size() + 1) * byteSize <= limit) {
            try {
                live.add(allocator.alloc(byteSize));
            } catch (OutOfMemoryException e) {
                final long taken = live.size() * byteSize;
                if (taken < limit / 2) {
                    throw Expect.failure(
                            taken + " bytes of a limit of " + limit + " are live, in blocks of " + byteSize
                                    + "; one more failed: " + e.getMessage(),
                            e);
                }
                break;
            }
        }
        return live;
    }

    @ConformanceTest
    void required_A05_aSmallLimitStillServesWhatFits(Subject subject) {
        final long[] sizes = {1, 1000, 20_000, 64 * 1024};
        for (final long byteSize : sizes) {
            final Allocator allocator = subject.limited(64 * 1024);
            requireServed(subject, allocator, Math.min(byteSize, subject.largestOf(allocator)));
            subject.release(allocator);
        }
        // With the whole limit in one region: several regions of an arena cannot serve a large request.
        final Allocator allocator = subject.limited(64 * 1024);
        final long largest = subject.largestOf(allocator);
        requireServed(subject, allocator, largest);
        for (final long byteSize : sizes) {
            requireServed(subject, allocator, Math.min(byteSize, largest));
        }
    }

    private static void requireServed(Subject subject, Allocator limited, long byteSize) {
        try {
            limited.free(limited.alloc(byteSize));
        } catch (OutOfMemoryException e) {
            if (e.shortage().rounded() > subject.limitOf(limited)
                    && e.shortage().rounded() - byteSize <= subject.largePaddingOf(byteSize)) {
                return; // a header or granule that is large beside the limit
            }
            throw Expect.failure(
                    "nothing is live and the limit is " + subject.limitOf(limited) + " bytes, yet a request of "
                            + byteSize + " failed: a region must not exceed the limit",
                    e);
        }
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
        if (allocator.spiLevel() >= SpiLevel.RESERVE) {
            failures.put("a reserve of 2^50 bytes", () -> allocator.reserve(ABSURD));
        }
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
            Expect.rejection(
                    OutOfMemoryException.class,
                    "alloc of 12 sixteenths of the limit with 8 in use",
                    () -> allocator.alloc(12 * unit));
        }
        for (int i = 0; i < 8; i++) {
            try {
                allocator.free(addresses.set(i, allocator.alloc(unit)));
            } catch (OutOfMemoryException e) {
                throw Expect.failure(
                        "after failed requests, a request of a sixteenth of the limit failed with 8 in use: "
                                + e.getMessage(),
                        e);
            }
        }
        addresses.forEach(allocator::free);
    }
}
