package allocator.conformance.rules;

import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.conformance.subject.Workers;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.InvalidFreeException;
import allocator.spi.OptionKey;
import allocator.spi.OutOfMemoryException;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Faults reported for other allocators, one test each. */
public abstract class RegressionRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** RMM #2489: merging neighbours of two streams kept the event of one of them only. */
    @ConformanceTest
    void required_T03_rmm2489_mergeOfThreeStreams(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream a = subject.stream();
        final SyncStream b = subject.stream();
        final SyncStream c = subject.stream();
        final long first = allocator.allocOnStream(MIB, a);
        final long second = allocator.allocOnStream(MIB, b);
        final long third = allocator.allocOnStream(MIB, a);
        allocator.free(first);
        allocator.free(second);
        allocator.free(third);
        StreamReuse.order(a, b);
        final long merged = allocator.allocOnStream(3 * MIB, b);
        final FreedMemory freed = new FreedMemory(subject, allocator);
        freed.free(merged, 3 * MIB, b);
        StreamReuse.order(a, c);
        final long taken = freed.allocate(3 * MIB, c);
        freed.requireApart(
                taken,
                3 * MIB,
                c,
                "a stream got a block that another had merged and freed; it had waited only for the stream "
                        + "that owned a part"
                        + " of it before");
        allocator.free(taken);
    }

    /** RMM #861 and the like: memory of a stream that no longer exists was reused, or never reused. */
    @ConformanceTest
    void required_T05_rmm861_memoryOfADeletedStream(Subject subject) {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator());
        final SyncStream first = subject.stream();
        final long outlived = allocator.allocOnStream(4 * MIB, first);
        final long freed = allocator.allocOnStream(4 * MIB, first);
        allocator.free(freed);
        first.close();
        allocator.free(outlived);
        final SyncStream second = subject.stream();
        final long one = allocator.allocOnStream(4 * MIB, second);
        final long two = allocator.alloc(4 * MIB);
        final Blocks blocks = new Blocks();
        blocks.add(one, 4 * MIB);
        blocks.add(two, 4 * MIB);
        allocator.free(one);
        allocator.free(two);
    }

    /** RMM #2448, PR #2402: alignment was lost on an unusual path of a request. */
    @ConformanceTest
    void required_A04_rmm2402_alignmentAfterReuseAndSplit(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long alignment = allocator.info().byteAlignment();
        final List<Long> live = new ArrayList<>();
        for (int i = 1; i <= subject.mostLive(200); i++) {
            final long address = allocator.alloc(i * 37L);
            Expect.that(
                    address % alignment == 0,
                    "block %d, of %d bytes, is at %s, no multiple of %d",
                    i,
                    i * 37,
                    Expect.hex(address),
                    alignment);
            live.add(address);
            if (i % 3 == 0) {
                allocator.free(live.remove(i % live.size()));
            }
        }
        live.forEach(allocator::free);
    }

    /** ONNX Runtime: a reserve exceeded the limit, and the next check underflowed, so that no limit was left. */
    @ConformanceTest
    void required_R01_ort_limitAfterAReserveThatFillsIt(Subject subject) {
        final Allocator allocator = subject.limited(4 * MIB);
        subject.requireReserve(allocator);
        final long unit = subject.partOf(allocator, 4);
        final long reserved = allocator.reserve(subject.largestReserveOf(allocator));
        for (final long byteSize : new long[] {1, unit, 4 * unit, 1L << 40}) {
            Expect.rejection(
                    OutOfMemoryException.class,
                    "alloc(" + byteSize + ") with the whole limit reserved",
                    () -> allocator.alloc(byteSize));
            Expect.rejection(
                    OutOfMemoryException.class,
                    "reserve(" + byteSize + ") with the whole limit reserved",
                    () -> allocator.reserve(byteSize));
        }
        allocator.free(reserved);
        allocator.free(allocator.alloc(unit));
    }

    /** ONNX Runtime: a growth size or limit that is no multiple of 256 leaked each new region. */
    @ConformanceTest
    void required_O03_ort_sizesThatAreNoMultipleOf256(Subject subject) {
        int used = 0;
        for (final OptionKey<?> key : subject.factory().optionKeys()) {
            if (isSize(key)) {
                used++;
                final Allocator allocator = subject.allocator(Map.of(key.name(), "4000001"));
                fill(allocator).forEach(allocator::free);
                if (subject.counts(allocator)) {
                    Expect.that(
                            allocator.stats().bytesInUse() == 0,
                            "with %s=4000001 and everything freed, %d bytes are in use",
                            key.name(),
                            allocator.stats().bytesInUse());
                }
                subject.release(allocator);
            }
        }
        if (used == 0) {
            throw Expect.skip("the provider has no sizes among its options");
        }
    }

    /** Allocates a few blocks, or as many as there is room for. */
    private static List<Long> fill(Allocator allocator) {
        final List<Long> live = new ArrayList<>();
        try {
            for (final long byteSize : new long[] {MIB, MIB, MIB, 1000}) {
                live.add(allocator.alloc(byteSize));
            }
        } catch (OutOfMemoryException full) {
            Expect.that(!live.isEmpty(), "not one block of 1 MiB fits within 4000001 bytes: %s", full.getMessage());
        }
        return live;
    }

    private static boolean isSize(OptionKey<?> key) {
        try {
            return key.parse("4000001", "conformance kit") instanceof Long;
        } catch (AllocatorException notASize) {
            return false;
        }
    }

    /** ONNX Runtime: a pointer into a block was accepted, and a second free after reuse freed another block. */
    @ConformanceTest
    void required_A06_ort_freeInsideACoalescedBlock(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long first = allocator.alloc(4096);
        final long second = allocator.alloc(4096);
        final long third = allocator.alloc(4096);
        allocator.free(first);
        allocator.free(second);
        final long large = allocator.alloc(8192);
        if (large <= second && second < large + 8192 && second != large) {
            Expect.rejection(
                    InvalidFreeException.class,
                    "free of an old address that now lies inside a live block",
                    () -> allocator.free(second));
        }
        allocator.free(large);
        allocator.free(third);
    }

    /** ONNX Runtime: a device that always fails hung the arena, which tried smaller and smaller regions. */
    @ConformanceTest
    void required_C02_ort_anImpossibleRequestReturns(Subject subject) {
        final Allocator allocator = subject.allocator();
        for (int i = 0; i < 3; i++) {
            Expect.rejection(OutOfMemoryException.class, "alloc(2^50)", () -> allocator.alloc(1L << 50));
            Expect.rejection(OutOfMemoryException.class, "alloc(2^61)", () -> allocator.alloc(1L << 61));
        }
    }

    /** ONNX Runtime #32342: memory without a stream, freed and taken by a stream, then usable by every stream. */
    @ConformanceTest
    void required_T03_ort32342_memoryThatHadNoStreamBefore(Subject subject) {
        final StreamAwareAllocator allocator = subject.orderedByStreams();
        final SyncStream first = subject.stream();
        final SyncStream second = subject.stream();
        allocator.free(allocator.alloc(MIB));
        final long taken = allocator.allocOnStream(MIB, first);
        final FreedMemory freed = new FreedMemory(subject, allocator);
        freed.free(taken, MIB, first);
        final String fault = "memory that a stream had used and freed went to %s, because it once had no stream";
        final long other = freed.allocate(MIB, second);
        freed.requireApart(other, MIB, second, fault, "another stream");
        final long none = freed.allocate(MIB, null);
        freed.requireApart(none, MIB, null, fault, "an allocation without a stream");
        allocator.free(other);
        allocator.free(none);
    }

    /** ONNX Runtime #29351: runs on changing threads, each with its own stream, held 2 GiB more each time. */
    @ConformanceTest
    void required_T04_ort29351_runsOnNewStreamsAndThreads(Subject subject) throws Throwable {
        final StreamAwareAllocator allocator = subject.streamAware(subject.allocator(subject.boundedGrowth()));
        subject.stats(allocator);
        final long[] held = new long[20];
        for (int run = 0; run < held.length; run++) {
            final int number = run;
            Workers.run(Thread.ofPlatform().daemon(), 1, _ -> {
                final SyncStream stream = subject.stream();
                final List<Long> live = new ArrayList<>();
                for (int i = 1; i <= 6; i++) {
                    live.add(allocator.allocOnStream(i * 300_000L, stream));
                }
                live.forEach(allocator::free);
                stream.onSessionRunEnd();
                held[number] = allocator.stats().bytesHeld();
                stream.close();
            });
        }
        Expect.that(
                held[held.length - 1] <= 2 * held[1],
                "the same run on a new stream and thread each time held %d bytes after the second and %d "
                        + "after the last",
                held[1],
                held[held.length - 1]);
    }

    /** RMM #496, #527: a limit that is filled to the last byte, twice. */
    @ConformanceTest
    void required_A05_rmm527_theLimitIsFilledExactly(Subject subject) {
        final Allocator allocator = subject.limited(4 * MIB);
        final long largest = subject.largestOf(allocator);
        for (int i = 0; i < 2; i++) {
            final long all = allocator.alloc(largest);
            Expect.rejection(OutOfMemoryException.class, "alloc(1) with the limit filled", () -> allocator.alloc(1));
            allocator.free(all);
        }
    }
}
