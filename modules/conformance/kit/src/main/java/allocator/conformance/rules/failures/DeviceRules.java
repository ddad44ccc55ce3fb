package allocator.conformance.rules.failures;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.MemoryInfo;
import allocator.spi.OutOfMemoryException;
import allocator.spi.ShrinkableAllocator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;
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
    private record Full(Map<Long, Long> live, OutOfMemoryException failure) {}

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
}
