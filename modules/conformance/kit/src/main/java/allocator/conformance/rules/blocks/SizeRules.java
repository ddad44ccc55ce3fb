package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Contents.Part;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.StatisticsCheck;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.HostAccessibleAllocator;
import allocator.spi.OutOfMemoryException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;

/** Large blocks and large limits: faults of sizes that do not fit an {@code int}, or of a path for large blocks. */
public abstract class SizeRules extends Chapter {
    private static final long MIB = 1 << 20;
    private static final long GIB = 1L << 30;

    /** The bytes that are compared at each end of a block; the pages between are not touched. */
    private static final long END = 4096;

    /** A block that takes longer is touched by the provider or the device: larger ones would take too long. */
    private static final long SLOW = TimeUnit.MILLISECONDS.toNanos(150);

    /** Tried where the device has them, in this order. */
    private static final long[] HUGE = {GIB + 1, 2 * GIB - 255, 2 * GIB + 4097, 4 * GIB + 4097};

    private static final long[] LIMITS = {2 * GIB, 2 * GIB + MIB, 3 * GIB, 4 * GIB, 4 * GIB + MIB, 9 * GIB};

    private static OptionalLong tryAlloc(LongUnaryOperator call, long byteSize) {
        try {
            return OptionalLong.of(call.applyAsLong(byteSize));
        } catch (OutOfMemoryException noRoom) {
            final OutOfMemoryException.Shortage shortage = noRoom.shortage();
            Expect.that(shortage.requested() == byteSize, "%s", noRoom.getMessage());
            Expect.that(
                    shortage.deviceFree() < 2 * byteSize || shortage.limit() != AllocatorStats.UNLIMITED,
                    "a request of %d bytes failed with %d free on the device, and no limit: %s",
                    byteSize,
                    shortage.deviceFree(),
                    noRoom.getMessage());
            return OptionalLong.empty();
        } catch (OutOfMemoryError error) {
            throw Expect.heapIsFull(error);
        }
    }

    @ConformanceTest
    void required_A03_largeBlocksDoNotOverlap(Subject subject) {
        for (final String name : callsOfExclusive(subject)) {
            final long before = System.nanoTime();
            if (!isGranted(subject, name, 65 * MIB + 1)) {
                throw Expect.skip("the device has no room for 65 MiB");
            }
            final boolean isFast =
                    System.nanoTime() - before < SLOW || subject.probe().isPresent();
            for (final long byteSize : HUGE) {
                if (!isFast
                        || isLate(subject, before)
                        || !subject.mayTry(byteSize)
                        || !isGranted(subject, name, byteSize)) {
                    break;
                }
            }
        }
    }

    /** Returns the calls of the allocators that are asked, whose level another of the memory need not have. */
    private static Set<String> callsOfExclusive(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        final Set<String> names = AllocationCalls.of(subject, allocator).keySet();
        subject.release(allocator);
        return names;
    }

    private static boolean isLate(Subject subject, long start) {
        return System.nanoTime() - start > TimeUnit.MILLISECONDS.toNanos(subject.times(4_000, 800));
    }

    /** Tries a large block of a new allocator; returns whether there was room. */
    private static boolean isGranted(Subject subject, String name, long byteSize) {
        final Allocator allocator = subject.exclusive(Map.of());
        final LongUnaryOperator call =
                Objects.requireNonNull(AllocationCalls.of(subject, allocator).get(name));
        final boolean isGranted = surroundedByNeighbours(subject, allocator, name, call, byteSize);
        subject.release(allocator);
        return isGranted;
    }

    @ConformanceTest
    void required_A05_whatFitsInPiecesFitsAtOnce(Subject subject) {
        for (final String name : callsOfExclusive(subject)) {
            final long before = System.nanoTime();
            for (final long byteSize : new long[] {65 * MIB + 1, 2 * GIB + 4097, 4 * GIB + 4097}) {
                if (isLate(subject, before) || !subject.mayTry(byteSize)) {
                    break;
                }
                final Allocator allocator = subject.exclusive(Map.of());
                final LongUnaryOperator call = Objects.requireNonNull(
                        AllocationCalls.of(subject, allocator).get(name));
                final OptionalLong whole = tryAlloc(call, byteSize);
                if (whole.isEmpty()) {
                    requireNoRoomInPieces(allocator, name, call, byteSize);
                } else {
                    allocator.free(whole.getAsLong());
                }
                subject.release(allocator);
            }
        }
    }

    /** Allocates a large block and small ones around it; fails if they overlap. Returns whether there was room. */
    private static boolean surroundedByNeighbours(
            Subject subject, Allocator allocator, String name, LongUnaryOperator call, long byteSize) {
        final boolean counts = subject.counts(allocator);
        final AllocatorStats before = counts ? allocator.stats() : AllocatorStats.NONE;
        final Map<Long, Long> live = new LinkedHashMap<>();
        final OptionalLong large = tryAlloc(call, byteSize);
        if (large.isEmpty()) {
            return false;
        }
        final Blocks blocks = new Blocks();
        blocks.add(large.getAsLong(), byteSize);
        live.put(large.getAsLong(), byteSize);
        if (counts) {
            final AllocatorStats stats = allocator.stats();
            final Map<String, Boolean> isRight = new TreeMap<>(Map.of(
                    "requestedBytesInUse",
                    stats.requestedBytesInUse() - before.requestedBytesInUse() == byteSize,
                    "bytesInUse",
                    stats.bytesInUse() - before.bytesInUse() >= byteSize,
                    "bytesHeld",
                    stats.bytesHeld() >= byteSize,
                    "maxAllocSize",
                    stats.maxAllocSize() == 0 || stats.maxAllocSize() >= byteSize));
            isRight.forEach((field, is) -> Expect.that(
                    is, "%s(%d) was counted wrong: %s", name, byteSize, StatisticsCheck.values(field, before, stats)));
        }
        for (final long small : new long[] {1, 4096, MIB, 100, 5 * MIB}) {
            final OptionalLong address = tryAlloc(allocator::alloc, small);
            if (address.isEmpty()) {
                Expect.that(
                        !hasRoom(subject, small),
                        "beside a block of %d bytes, one of %d failed, which another allocator got",
                        byteSize,
                        small);
                break;
            }
            blocks.add(address.getAsLong(), small);
            live.put(address.getAsLong(), small);
        }
        live.keySet().forEach(allocator::free);
        if (counts) {
            Expect.that(
                    allocator.stats().bytesInUse() == before.bytesInUse(),
                    "after %s(%d) and its free, bytesInUse is %d, it was %d before",
                    name,
                    byteSize,
                    allocator.stats().bytesInUse(),
                    before.bytesInUse());
        }
        return true;
    }

    /** Returns whether the device has room for a block of another allocator. */
    private static boolean hasRoom(Subject subject, long byteSize) {
        final Allocator other = subject.exclusive(Map.of());
        final OptionalLong address = tryAlloc(other::alloc, byteSize);
        address.ifPresent(other::free);
        subject.release(other);
        return address.isPresent();
    }

    /** Fails if an allocator has in four pieces what it did not have at once, although nothing was live. */
    private static void requireNoRoomInPieces(Allocator allocator, String name, LongUnaryOperator call, long byteSize) {
        final List<Long> pieces = new ArrayList<>();
        while (pieces.size() < 4) {
            final OptionalLong piece = tryAlloc(call, byteSize / 4 + 1);
            if (piece.isEmpty()) {
                break;
            }
            pieces.add(piece.getAsLong());
        }
        pieces.forEach(allocator::free);
        Expect.that(
                pieces.size() < 4,
                "%s(%d) failed with nothing live; as much in four blocks was granted",
                name,
                byteSize);
    }

    @ConformanceTest
    void required_A09_bothEndsOfALargeBlockAreUsable(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        final Optional<Contents> contents = Optional.of(subject.contents(allocator));
        AllocationCalls.withContents(subject, allocator).forEach((name, call) -> {
            final List<Long> sizes = new ArrayList<>(List.of(65 * MIB + 1, 100 * MIB + 5));
            final Map<Long, Long> live = new LinkedHashMap<>();
            for (final long byteSize : sizes) {
                tryAlloc(call, byteSize).ifPresent(address -> live.put(address, byteSize));
            }
            live.put(allocator.alloc(3000), 3000L);
            live.forEach((address, byteSize) -> Part.ends(address, byteSize, END)
                    .forEach(end -> contents.orElseThrow().fill(end, byteSize + end.offset())));
            live.forEach((address, byteSize) -> Part.ends(address, byteSize, END)
                    .forEach(end -> contents.orElseThrow()
                            .fault(end, byteSize + end.offset())
                            .ifPresent(fault -> Expect.that(
                                    false, "a part at byte %d of %s(%d): %s", end.offset(), name, byteSize, fault))));
            live.keySet().forEach(allocator::free);
        });
    }

    @ConformanceTest
    void required_H02_aSegmentMayExceedTwoGibibytes(Subject subject) {
        if (!(subject.exclusive(Map.of()) instanceof HostAccessibleAllocator allocator)) {
            throw Expect.skip("the allocator is not a HostAccessibleAllocator");
        }
        final long byteSize = 2 * GIB + 4097;
        final long before = System.nanoTime();
        allocator.free(allocator.alloc(65 * MIB + 1));
        if (!subject.mayTry(byteSize) || System.nanoTime() - before > SLOW) {
            throw Expect.skip("a block of 2 GiB would take too long, or more memory than there is");
        }
        final long address =
                tryAlloc(allocator::alloc, byteSize).orElseThrow(() -> Expect.skip("the device has no room for 2 GiB"));
        final MemorySegment segment = allocator.segment(address, byteSize);
        Expect.that(
                segment.byteSize() == byteSize && segment.address() == address,
                "the segment of %d bytes at %s has %d bytes at %s",
                byteSize,
                Expect.hex(address),
                segment.byteSize(),
                Expect.hex(segment.address()));
        segment.set(ValueLayout.JAVA_BYTE, byteSize - 1, (byte) 17);
        Expect.that(
                allocator.segment(address, byteSize).get(ValueLayout.JAVA_BYTE, byteSize - 1) == 17,
                "the last byte of a segment of %d bytes is not what was written",
                byteSize);
        allocator.free(address);
    }

    @ConformanceTest
    void required_O05_limitsBeyondTwoGibibytesAreEffective(Subject subject) {
        for (final long limit : LIMITS) {
            final Allocator allocator = subject.limited(limit);
            final long effective = subject.limitOf(allocator);
            Expect.that(
                    effective >= limit && effective < limit + GIB,
                    "%s=%d is effective as %d",
                    Subject.LIMIT,
                    limit,
                    effective);
            if (subject.counts(allocator)) {
                Expect.that(
                        allocator.stats().limit() == effective,
                        "%s=%d is effective; the statistics give a limit of %d",
                        Subject.LIMIT,
                        effective,
                        allocator.stats().limit());
            }
            subject.release(allocator);
        }
    }

    @ConformanceTest
    void required_S03_limitsBeyondTwoGibibytesHold(Subject subject) {
        for (final long limit : LIMITS) {
            final Allocator allocator = subject.limited(limit);
            final long effective = subject.limitOf(allocator);
            AllocationCalls.of(subject, allocator).forEach((name, call) -> {
                try {
                    allocator.free(call.applyAsLong(3 * MIB));
                } catch (OutOfMemoryException e) {
                    throw Expect.failure(
                            name + "(3 MiB) failed under a limit of " + effective + " bytes: " + e.getMessage(), e);
                }
                final OutOfMemoryException rejection = Expect.rejection(
                        OutOfMemoryException.class,
                        name + "(" + (effective + 1) + ") under a limit of " + effective,
                        () -> call.applyAsLong(effective + 1));
                Expect.that(
                        rejection.shortage().limit() == OutOfMemoryException.UNKNOWN
                                || rejection.shortage().limit() == effective,
                        "under a limit of %d the shortage gives %d",
                        effective,
                        rejection.shortage().limit());
            });
            subject.release(allocator);
        }
    }
}
