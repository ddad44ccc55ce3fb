package allocator.conformance.rules.failures;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.DataTransfer;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryRange;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** What a device without a probe shows: how it ends, what is left for others, and what its queued work touches. */
public abstract class DeviceRules extends Chapter {
    private static final long MIB = 1 << 20;
    private static final long BLOCK = 64 * MIB;

    /** Devices that have more are not exhausted. */
    private static final int MOST_BLOCKS = 128;

    /** How long filling may take: a device that touches its memory would take that of the host. */
    private static final int MOST_MILLIS = 6_000;

    private static final int FEW_MILLIS = 700;

    /** A device that has been filled. */
    private record Full(Map<Long, Long> live, OutOfMemoryException failure) {
        /** Frees all blocks; returns how many there were. */
        int release(Allocator allocator) {
            live.keySet().forEach(allocator::free);
            return live.size();
        }
    }

    /** Fills a device with large blocks; empty if it has too much for that, or is slow. */
    private static Optional<Full> fill(Subject subject, Allocator allocator, long byteSize, LongPredicate mayHold) {
        final Map<Long, Long> live = new LinkedHashMap<>();
        final Blocks blocks = new Blocks();
        @Nullable OutOfMemoryException failure = null;
        final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(subject.times(MOST_MILLIS, FEW_MILLIS));
        try {
            while (System.nanoTime() < end
                    && live.size() * byteSize < MOST_BLOCKS * BLOCK
                    && (live.size() * byteSize < 2 * BLOCK || mayHold.test(live.size() * byteSize))) {
                final long address = allocator.alloc(byteSize);
                blocks.add(address, byteSize);
                live.put(address, byteSize);
            }
        } catch (OutOfMemoryException full) {
            failure = full;
        } catch (OutOfMemoryError error) {
            throw Expect.heapIsFull(error);
        }
        if (failure == null) {
            live.keySet().forEach(allocator::free);
            return Optional.empty();
        }
        return Optional.of(new Full(live, failure));
    }

    private static Full requireFull(Subject subject, Allocator allocator, long byteSize) {
        return requireFull(subject, allocator, byteSize, subject::mayTry);
    }

    private static Full requireFull(Subject subject, Allocator allocator, long byteSize, LongPredicate mayHold) {
        return fill(subject, allocator, byteSize, mayHold)
                .orElseThrow(() -> Expect.skip("the device has more than the kit exhausts, or is slow"));
    }

    @ConformanceTest
    void required_A05_aFullDeviceSaysSo(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        for (final long byteSize : new long[] {BLOCK, 24 * MIB + 4096}) {
            final Full full = requireFull(subject, allocator, byteSize, subject::mayFill);
            final long free = full.failure().shortage().deviceFree();
            Expect.that(
                    free < byteSize,
                    "%d blocks of %d bytes fill the device; the shortage says that %d bytes are free on it",
                    full.live().size(),
                    byteSize,
                    free);
            Expect.that(
                    full.failure().shortage().requested() == byteSize,
                    "a request of %d bytes failed with a shortage of %d",
                    byteSize,
                    full.failure().shortage().requested());
            full.live().keySet().forEach(allocator::free);
            final long again = grant(
                    allocator,
                    byteSize,
                    "the device was full and all blocks were freed, yet a block of their size failed");
            allocator.free(again);
        }
    }

    private static long grant(Allocator allocator, long byteSize, String story) {
        try {
            return allocator.alloc(byteSize);
        } catch (OutOfMemoryException e) {
            throw Expect.failure(story + ": " + e.getMessage(), e);
        }
    }

    @ConformanceTest
    void required_A03_blocksOfAFullDeviceDoNotOverlap(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        final Full full = requireFull(subject, allocator, 40 * MIB + 1);
        final Blocks blocks = new Blocks();
        full.live().forEach(blocks::add);
        final List<Long> small = new ArrayList<>();
        for (long byteSize = 8 * MIB; byteSize >= 4096; byteSize /= 2) {
            try {
                for (int i = 0; i < 12; i++) {
                    final long address = allocator.alloc(byteSize);
                    blocks.add(address, byteSize);
                    small.add(address);
                }
            } catch (OutOfMemoryException none) {
                Expect.that(none.shortage().requested() == byteSize, "%s", none.getMessage());
            }
        }
        small.forEach(allocator::free);
        full.live().keySet().forEach(allocator::free);
    }

    @ConformanceTest
    void required_A05_afterAShrinkAFullDeviceServesLargerBlocks(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(Map.of()));
        final Full full = requireFull(subject, allocator, 24 * MIB);
        final long all = full.live().size() * (24 * MIB);
        full.live().keySet().forEach(allocator::free);
        allocator.shrink();
        // An arena may keep its first region.
        final long byteSize = Math.max(24 * MIB, all / 4);
        allocator.free(grant(
                allocator,
                byteSize,
                "the device was filled with " + all + " bytes, all were freed and the allocator shrunk; then "
                        + byteSize + " bytes at once failed"));
    }

    @ConformanceTest
    void required_F10_aFullDeviceLeavesOthersTheirMemory(Subject subject) {
        final List<MemoryInfo> others = subject.othersWithRoom().stream()
                .filter(info -> info.location().deviceOrdinal()
                                != subject.memory().location().deviceOrdinal()
                        || info.location().deviceType()
                                != subject.memory().location().deviceType())
                .toList();
        if (others.isEmpty()) {
            throw Expect.skip("the factory lists one device only");
        }
        final Allocator allocator = subject.exclusive(Map.of());
        final Full full = requireFull(subject, allocator, BLOCK);
        for (final MemoryInfo info : others) {
            final Allocator other = subject.create(info, Map.of());
            other.free(grant(other, BLOCK, subject.memory() + " is full, and so a request on " + info + " failed"));
            subject.release(other);
        }
        full.live().keySet().forEach(allocator::free);
    }

    /**
     * Returns the names of the calls that get memory that was freed. An arena that is not shrunk keeps its regions,
     * from which there is no reserve.
     */
    private static Set<String> callsOfAnEmptied(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        final Set<String> calls =
                new LinkedHashSet<>(AllocationCalls.withoutStreams(allocator).keySet());
        if (subject.isArena(allocator) && Subject.ifShrinkable(allocator).isEmpty()) {
            calls.remove("reserve");
        }
        subject.release(allocator);
        return calls;
    }

    @ConformanceTest
    void required_F04_aFullDeviceIsEmptyAfterARelease(Subject subject) {
        for (final String name : callsOfAnEmptied(subject)) {
            for (int round = 0; round < subject.times(2, 1); round++) {
                final Allocator allocator = subject.exclusive(Map.of());
                final int count = requireFull(subject, allocator, BLOCK).release(allocator);
                Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink);
                final LongUnaryOperator call = Objects.requireNonNull(
                        AllocationCalls.withoutStreams(allocator).get(name));
                // Live at the release.
                for (int i = 0; i < count / 2; i++) {
                    Expect.that(call.applyAsLong(BLOCK) != 0, "%s returned 0", name);
                }
                subject.release(allocator);
                final Allocator next = subject.exclusive(Map.of());
                for (int i = 0; i < count; i++) {
                    grant(
                            next,
                            BLOCK,
                            count + " blocks fill the device, and an allocator was released with half of them live, by "
                                    + name + "; the next one got " + i);
                }
                subject.release(next);
            }
        }
    }

    @ConformanceTest
    void required_K03_whatIsGivenBackIsNotTouchedByQueuedWork(Subject subject) {
        queueWork(subject, true);
    }

    @ConformanceTest
    void required_K03_whatIsReleasedIsNotTouchedByQueuedWork(Subject subject) {
        queueWork(subject, false);
    }

    /** Queues copies into blocks, frees them, and has a shrink or a release return them; then others get the memory. */
    private static void queueWork(Subject subject, boolean isShrink) {
        final DataTransfer transfer = Contents.transfer(subject, subject.memory())
                .orElseThrow(() -> Expect.skip("needs copies between host and device, to queue work"));
        subject.streamAware(subject.exclusive(Map.of()));
        try (Arena lifetime = Arena.ofConfined()) {
            final MemorySegment source = lifetime.allocate(4 * MIB, 64);
            for (int round = 0; round < subject.times(10, 2); round++) {
                final Allocator first = subject.exclusive(subject.manyRegions());
                final StreamAwareAllocator allocator = subject.streamAware(first);
                if (isShrink) {
                    subject.shrinkable(first);
                }
                final SyncStream stream = subject.stream();
                for (int i = 0; i < 8; i++) {
                    final long address = allocator.allocOnStream(4 * MIB, stream);
                    transfer.copy(
                            new MemoryRange(Contents.HOST, source.address(), 4 * MIB),
                            new MemoryRange(subject.memory(), address, 4 * MIB),
                            stream);
                    allocator.free(address);
                }
                if (isShrink) {
                    ((ShrinkableAllocator) first).shrink();
                } else {
                    subject.release(first);
                }
                final Allocator next = subject.exclusive(Map.of());
                final Contents contents = subject.contents(next);
                final List<Long> live = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    final long address = next.alloc(4 * MIB);
                    contents.fill(address, 4 * MIB, 60 + i);
                    live.add(address);
                }
                stream.flush();
                for (int i = 0; i < live.size(); i++) {
                    contents.verify(
                            live.get(i),
                            4 * MIB,
                            60 + i,
                            "work was queued on freed memory, which a " + (isShrink ? "shrink" : "release")
                                    + " gave back and another allocator got:");
                }
                live.forEach(next::free);
                subject.release(next);
                stream.close();
            }
        }
    }

    @ConformanceTest
    void required_A10_aFullDeviceIsEmptyAfterFrees(Subject subject) {
        for (final String name : callsOfAnEmptied(subject)) {
            final Allocator allocator = subject.exclusive(Map.of());
            final LongUnaryOperator call = Objects.requireNonNull(
                    AllocationCalls.withoutStreams(allocator).get(name));
            final int count = requireFull(subject, allocator, BLOCK).release(allocator);
            Subject.ifShrinkable(allocator).ifPresent(ShrinkableAllocator::shrink);
            for (int round = 0; round < subject.times(3, 2); round++) {
                final List<Long> live = new ArrayList<>();
                // An arena may keep its first region, from which there is no reserve.
                for (int i = 0; i < (count + 1) / 2; i++) {
                    try {
                        live.add(call.applyAsLong(BLOCK));
                    } catch (OutOfMemoryException e) {
                        throw Expect.failure(
                                count + " blocks filled the device and were freed; after " + round + " rounds of "
                                        + name + " and free, it had room for " + i + ": " + e.getMessage(),
                                e);
                    }
                }
                live.forEach(allocator::free);
            }
            subject.release(allocator);
        }
    }
}
