package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidFreeException;
import allocator.spi.InvalidSizeException;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;
import allocator.spi.SpiLevel;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** What a shortage says of its requester, and that a call that fails changes no other counter (S-05). */
public abstract class ShortageRules extends Chapter {
    private static final long MIB = 1 << 20;

    private static void requireCounter(String name, long now, long expected, String after) {
        Expect.that(now == expected, "after %s, %s is %d instead of %d", after, name, now, expected);
    }

    @ConformanceTest
    void required_S05_onlyAShortageIsCountedAsAFailure(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        subject.stats(allocator);
        final long live = allocator.alloc(1000);
        final boolean countsFailures =
                Shortages.isCounted(allocator, allocator::alloc) || countsFailuresAtALimit(subject);
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            final AllocatorStats before = allocator.stats();
            Shortages.isCounted(allocator, call);
            requireUnchanged(allocator, before, countsFailures ? 1 : 0, "a shortage in " + name);
            final AllocatorStats then = allocator.stats();
            for (final long byteSize : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE}) {
                final AllocatorException rejection = Expect.rejection(
                        AllocatorException.class, name + "(" + byteSize + ")", () -> call.applyAsLong(byteSize));
                if (rejection instanceof InvalidSizeException) {
                    requireUnchanged(allocator, then, 0, name + "(" + byteSize + ")");
                }
            }
        });
        final AllocatorStats before = allocator.stats();
        for (final long wrong : new long[] {live + 1, 4096, live + (1L << 40)}) {
            Expect.rejection(InvalidFreeException.class, "free of a wrong address", () -> allocator.free(wrong));
        }
        requireUnchanged(allocator, before, 0, "rejected frees");
        allocator.free(live);
    }

    /** Returns whether failures are counted where it is the limit that fails them. */
    private static boolean countsFailuresAtALimit(Subject subject) {
        if (!subject.hasKey(Subject.LIMIT)) {
            return false;
        }
        final long limit = Math.max(8 * MIB, subject.smallestLimit());
        final Allocator limited = subject.exclusive(Map.of(Subject.LIMIT, Long.toString(limit)));
        final boolean counts = limited.effectiveOptions().value(Subject.LIMIT) != null
                && Shortages.isCounted(limited, _ -> limited.alloc(subject.limitOf(limited) + 1));
        subject.release(limited);
        return counts;
    }

    /** Memory that a call returned to the device before it failed may show; nothing else may. */
    private static void requireUnchanged(Allocator allocator, AllocatorStats before, long failures, String after) {
        final AllocatorStats now = allocator.stats();
        requireCounter("numFailedAllocs", now.numFailedAllocs(), before.numFailedAllocs() + failures, after);
        requireCounter("numAllocs", now.numAllocs(), before.numAllocs(), after);
        requireCounter("numReserves", now.numReserves(), before.numReserves(), after);
        requireCounter("bytesInUse", now.bytesInUse(), before.bytesInUse(), after);
        requireCounter("requestedBytesInUse", now.requestedBytesInUse(), before.requestedBytesInUse(), after);
        requireCounter("peakBytesInUse", now.peakBytesInUse(), before.peakBytesInUse(), after);
        requireCounter("maxAllocSize", now.maxAllocSize(), before.maxAllocSize(), after);
        requireCounter("limit", now.limit(), before.limit(), after);
        // At a limit a call may take a part of what it needs, and return it when the rest is not granted.
        Expect.that(
                now.peakBytesHeld() == before.peakBytesHeld() || now.peakBytesHeld() <= now.limit(),
                "after %s, peakBytesHeld rose from %d to %d, with a limit of %d",
                after,
                before.peakBytesHeld(),
                now.peakBytesHeld(),
                now.limit());
        Expect.that(
                now.bytesHeld() <= before.bytesHeld(),
                "after %s, bytesHeld rose from %d to %d",
                after,
                before.bytesHeld(),
                now.bytesHeld());
    }

    @ConformanceTest
    void required_S05_everyKindOfShortageIsCounted(Subject subject) {
        final Allocator limited = subject.limited(8 * MIB);
        subject.stats(limited);
        final long limit = subject.limitOf(limited);
        final Allocator unlimited = subject.exclusive(Map.of());
        // Allocators of one memory may differ in level, so this one may count although the other does not.
        final Allocator other = unlimited.spiLevel() >= SpiLevel.STATISTICS ? unlimited : limited;
        final boolean counts = Shortages.isCounted(other, other::alloc);
        limited.free(limited.alloc(1000)); // so that something may be returned, and the peaks are above 0
        AllocationCalls.of(subject, limited).forEach((name, call) -> {
            for (final long byteSize : new long[] {limit + 1, 2 * limit, Shortages.ABSURD}) {
                final AllocatorStats before = limited.stats();
                final String what = name + "(" + byteSize + ") under a limit of " + limit;
                Expect.rejection(OutOfMemoryException.class, what, () -> call.applyAsLong(byteSize));
                requireUnchanged(
                        limited,
                        before,
                        counts ? 1 : 0,
                        what + " had failed, where failures " + (counts ? "are" : "are not")
                                + " counted without a limit");
            }
        });
    }

    /**
     * Free memory of a stream is a chunk for that stream and, perhaps, for no other requester: of what a shortage says,
     * its requester gets as much.
     */
    @ConformanceTest
    void required_A05_theLargestFreeOfAShortageIsOfItsRequester(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.limited(16 * MIB));
        final Allocator rounding = subject.exclusive(subject.boundedGrowth());
        final boolean counts = subject.counts(rounding);
        final long unit = subject.partOf(allocator, 16);
        subject.release(allocator);
        final SyncStream owner = subject.stream();
        final SyncStream other = subject.furtherStream(subject.memory()).orElse(owner);
        for (final SyncStream requester : new SyncStream[] {null, other, owner}) {
            for (final long parts : new long[] {8, 11, 14}) {
                final StreamAwareAllocator limited = subject.streamAware(subject.limited(16 * MIB));
                final long kept;
                try {
                    limited.free(limited.allocOnStream(12 * unit, owner));
                    kept = limited.allocOnStream(unit / 4, owner);
                } catch (OutOfMemoryException e) {
                    throw Expect.skip("a stream did not get what fits the limit; A-05 and T-08 report why");
                }
                final LongUnaryOperator call =
                        requester == null ? limited::alloc : byteSize -> limited.allocOnStream(byteSize, requester);
                requireTrueOfRequester(subject, limited, call, parts * unit, counts ? rounding : null);
                limited.free(kept);
                subject.release(limited);
            }
        }
    }

    /** Makes a request; if it fails, its requester gets the largest free chunk that the shortage gives. */
    private static void requireTrueOfRequester(
            Subject subject, Allocator limited, LongUnaryOperator call, long byteSize, @Nullable Allocator rounding) {
        final Shortage shortage;
        try {
            limited.free(call.applyAsLong(byteSize));
            return;
        } catch (OutOfMemoryException e) {
            shortage = e.shortage();
        }
        if (shortage.largestFree() == OutOfMemoryException.UNKNOWN) {
            return;
        }
        final String story = "12 sixteenths of a limit were freed on a stream that then took a little; a request of "
                + byteSize + " bytes failed with a largest free chunk of " + shortage.largestFree();
        final long less = rounding == null ? 0 : FreeChunk.fitting(subject, rounding, shortage.largestFree());
        if (less == 0) {
            return;
        }
        final long held = limited.stats().bytesHeld();
        try {
            final long address = call.applyAsLong(less);
            Expect.that(
                    limited.stats().bytesHeld() <= held,
                    "%s; a request of %d then took %d bytes from the device",
                    story,
                    less,
                    limited.stats().bytesHeld() - held);
            limited.free(address);
        } catch (OutOfMemoryException e) {
            throw Expect.failure(story + "; then a request of " + less + " failed: " + e.getMessage(), e);
        }
    }
}
