package allocator.conformance.rules.blocks;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Contents;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Chapter R: reserves and allocations share a limit, and nothing else. */
public abstract class ReserveRules extends Chapter {
    private static final long MIB = 1 << 20;

    @ConformanceTest
    void required_R01_reservesAndAllocationsDoNotOverlap(Subject subject) {
        final Allocator allocator = subject.allocator();
        subject.requireReserve(allocator);
        final SplittableRandom random = subject.random("R-01");
        final Blocks blocks = new Blocks();
        final List<Long> live = new ArrayList<>();
        for (int i = 0; i < subject.times(2_000, 300) && subject.hasTime(); i++) {
            if (live.size() > 60 || (!live.isEmpty() && random.nextInt(100) < 45)) {
                final long address = live.remove(random.nextInt(live.size()));
                blocks.remove(address);
                allocator.free(address);
            } else {
                final long byteSize = 1 + random.nextLong(100_000);
                final long address = random.nextBoolean() ? allocator.reserve(byteSize) : allocator.alloc(byteSize);
                blocks.add(address, byteSize);
                live.add(address);
            }
        }
        live.forEach(allocator::free);
    }

    @ConformanceTest
    void required_R01_aReserveKeepsItsContents(Subject subject) {
        final Allocator allocator = subject.allocator();
        subject.requireReserve(allocator);
        final Contents contents = subject.contents(allocator);
        final long reserved = allocator.reserve(100_001);
        contents.fill(reserved, 100_001, 5);
        final long other = allocator.alloc(100_001);
        contents.fill(other, 100_001, 6);
        allocator.free(other);
        contents.verify(reserved, 100_001, 5, "a reserve changed under other allocations:");
        allocator.free(reserved);
    }

    @ConformanceTest
    void required_R01_aReserveDoesNotPassTheLimit(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long unit = subject.limitOf(allocator) / 16;
        subject.requireReserve(allocator);
        Expect.rejection(
                OutOfMemoryException.class,
                "reserve of 17 sixteenths of the limit",
                () -> allocator.reserve(17 * unit));
        final long half = allocator.reserve(8 * unit);
        Expect.rejection(
                OutOfMemoryException.class,
                "reserve of 9 sixteenths of the limit with 8 reserved",
                () -> allocator.reserve(9 * unit));
        Expect.rejection(
                OutOfMemoryException.class,
                "alloc of 9 sixteenths of the limit with 8 reserved",
                () -> allocator.alloc(9 * unit));
        allocator.free(half);
    }

    @ConformanceTest
    void required_R01_whatFitsBesideAReserveIsGranted(Subject subject) {
        final Allocator allocator = subject.limited(16 * MIB);
        final long unit = subject.limitOf(allocator) / 16;
        subject.requireReserve(allocator);
        final long reserved = allocator.reserve(10 * unit);
        final long beside = allocator.alloc(4 * unit);
        allocator.free(reserved);
        allocator.free(beside);
        final long again = allocator.reserve(8 * unit);
        allocator.free(again);
    }

    @ConformanceTest
    void required_R02_anArenaReservesExactlyOutsideItsRegions(Subject subject) {
        final Allocator allocator = subject.allocator();
        subject.requireReserve(allocator);
        subject.requireArena(allocator);
        for (final long byteSize : new long[] {1, 1000, 100_000, MIB + 1}) {
            final AllocatorStats before = allocator.stats();
            final long deviceBefore = subject.heldByDevice(0);
            final long address = allocator.reserve(byteSize);
            final AllocatorStats reserved = allocator.stats();
            Expect.that(
                    reserved.bytesHeld() - before.bytesHeld() == byteSize
                            && reserved.bytesInUse() - before.bytesInUse() == byteSize,
                    "a reserve of %d bytes raised bytesHeld by %d and bytesInUse by %d",
                    byteSize,
                    reserved.bytesHeld() - before.bytesHeld(),
                    reserved.bytesInUse() - before.bytesInUse());
            Expect.that(
                    reserved.numArenaExtensions() == before.numArenaExtensions(),
                    "a reserve of %d bytes extended the arena",
                    byteSize);
            final long taken = subject.heldByDevice(deviceBefore + byteSize) - deviceBefore;
            Expect.that(taken == byteSize, "a reserve of %d bytes took %d from the device", byteSize, taken);
            allocator.free(address);
            Expect.that(
                    allocator.stats().bytesHeld() == before.bytesHeld(),
                    "a freed reserve of %d bytes must go back to the device; bytesHeld was %d before and is %d",
                    byteSize,
                    before.bytesHeld(),
                    allocator.stats().bytesHeld());
            requireNoRegions(before, reserved, "a reserve of " + byteSize + " bytes");
            requireNoRegions(before, allocator.stats(), "the free of a reserve of " + byteSize + " bytes");
        }
    }

    /** A reserve is outside the regions: none is taken for it, and none returned with it. */
    private static void requireNoRegions(AllocatorStats before, AllocatorStats now, String call) {
        Expect.that(
                now.numArenaExtensions() <= before.numArenaExtensions(),
                "%s is no region: numArenaExtensions, the regions held, went from %d to %d",
                call,
                before.numArenaExtensions(),
                now.numArenaExtensions());
    }
}
