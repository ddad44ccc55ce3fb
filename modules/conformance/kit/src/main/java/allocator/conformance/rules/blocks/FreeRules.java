package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidFreeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Chapter A: invalid frees are rejected. */
public abstract class FreeRules extends Chapter {
    /** Sizes that allocators serve from different places: small classes, pages, regions, the device. */
    private static final long[] SIZES = {
        1, 256, 3000, 4096, 64 * 1024, 300_000, 1 << 20, (1 << 20) + 1, 5 << 20, 33 << 20
    };

    @ConformanceTest
    void required_A06_aForeignAddressIsRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long address = allocator.alloc(64);
        for (final long foreign : new long[] {1, 4096, -1, Long.MAX_VALUE, Long.MIN_VALUE, address + (1L << 40)}) {
            Expect.rejection(
                    InvalidFreeException.class,
                    "free of " + Expect.hex(foreign) + ", which was never allocated,",
                    () -> allocator.free(foreign));
        }
        allocator.free(address);
    }

    private static void requireRejected(Allocator allocator, long address, String what) {
        Expect.rejection(InvalidFreeException.class, what, () -> allocator.free(address));
    }

    @ConformanceTest
    void required_A06_aSecondFreeOfEachSizeIsRefused(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            for (final long byteSize : SIZES) {
                final String what = "a second free of a block of " + name + "(" + byteSize + ")";
                final long guard = call.applyAsLong(byteSize);
                final long address = call.applyAsLong(byteSize);
                allocator.free(address);
                requireRejected(allocator, address, what);
                final long small = allocator.alloc(16);
                if (small != address) {
                    requireRejected(allocator, address, what + ", after another allocation");
                }
                allocator.free(small);
                allocator.free(guard);
                requireRejected(allocator, address, what + ", after its neighbour was freed");
                Subject.ifShrinkable(allocator).ifPresent(shrinkable -> {
                    shrinkable.shrink();
                    requireRejected(allocator, address, what + ", after a shrink");
                });
            }
        });
    }

    @ConformanceTest
    void required_A06_aRefusedFreeHandsNothingOutTwice(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        final boolean counts = subject.counts(allocator);
        for (final long byteSize : SIZES) {
            final Blocks blocks = new Blocks();
            final long freed = allocator.alloc(byteSize);
            allocator.free(freed);
            final AllocatorStats before = counts ? allocator.stats() : AllocatorStats.NONE;
            for (int i = 0; i < 3; i++) {
                requireRejected(allocator, freed, "a second free of a block of " + byteSize + " bytes");
                requireRejected(allocator, freed + (1L << 40), "a free of what was never allocated");
            }
            if (counts) {
                subject.requireSame(before, allocator.stats(), "rejected frees changed the statistics");
            }
            final List<Long> live = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                final long address = allocator.alloc(byteSize);
                blocks.add(address, byteSize);
                live.add(address);
            }
            live.forEach(allocator::free);
        }
    }

    @ConformanceTest
    void required_A06_noAddressOfABlockButItsStartIsAccepted(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        AllocationCalls.of(subject, allocator).forEach((name, call) -> {
            for (final long byteSize : new long[] {1, 100, 1000, 4097, 100_000, (1 << 20) + 1, 5 << 20}) {
                final long address = call.applyAsLong(byteSize);
                for (final long offset : new long[] {
                    1, 8, 16, 64, 256, 512, 4096, 65_536, byteSize / 2, byteSize - 1, -1, -8, -16, -64, -256, -4096
                }) {
                    if (offset != 0 && offset < byteSize) {
                        requireRejected(
                                allocator,
                                address + offset,
                                "free of an address " + offset + " bytes from the start of a block of " + name + "("
                                        + byteSize + ")");
                    }
                }
                // The padding behind the block: nothing else is live.
                for (final long beyond : new long[] {0, 1, 7, 15, 63, 255}) {
                    requireRejected(
                            allocator,
                            address + byteSize + beyond,
                            "free of an address " + beyond + " bytes behind a block of " + name + "(" + byteSize
                                    + "), the only live one,");
                }
                allocator.free(address);
            }
        });
    }

    @ConformanceTest
    void required_A06_aFreeOfAnotherAllocatorsBlockIsRefused(Subject subject) {
        final Allocator own = subject.exclusive(Map.of());
        final Allocator other = subject.exclusive(Map.of());
        if (Expect.same(own, other)) {
            throw Expect.skip("the provider shares its only instance");
        }
        for (final long byteSize : SIZES) {
            final long address = other.alloc(byteSize);
            requireRejected(own, address, "free of a block of " + byteSize + " bytes of another allocator");
            other.free(address);
        }
    }

    @ConformanceTest
    void required_A06_noAddressNearABlockIsAccepted(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        for (final long byteSize : new long[] {48, 1000, 5000, 40_000, 700_000}) {
            final List<Long> live = new ArrayList<>();
            for (int i = 0; i < 9; i++) {
                live.add(allocator.alloc(byteSize));
            }
            final long middle = live.get(4);
            final int steps = subject.times(1_500, 300);
            for (int step = -steps; step <= steps; step++) {
                for (final long stride : new long[] {16, 64, byteSize, 4096}) {
                    final long address = middle + step * stride;
                    if (address > 0 && !live.contains(address)) {
                        requireRejected(
                                allocator,
                                address,
                                "free of an address " + step * stride + " bytes from a live block of " + byteSize
                                        + " bytes, where none starts,");
                    }
                }
            }
            live.forEach(allocator::free);
        }
    }
}
