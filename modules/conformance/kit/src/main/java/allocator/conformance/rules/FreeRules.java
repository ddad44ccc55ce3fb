package allocator.conformance.rules;

import allocator.conformance.subject.Expect;
import allocator.conformance.subject.ProviderFixture;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.InvalidFreeException;

/** Chapter A: invalid frees are rejected. */
public abstract class FreeRules extends Chapter {
    protected FreeRules(ProviderFixture fixture) {
        super(fixture);
    }

    @ConformanceTest
    void required_A06_aDoubleFreeIsRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long kept = allocator.alloc(4096);
        final long freed = allocator.alloc(4096);
        final long other = allocator.alloc(4096);
        allocator.free(freed);
        Expect.rejection(InvalidFreeException.class, "a second free of the same block", () -> allocator.free(freed));
        allocator.free(other);
        Expect.rejection(
                InvalidFreeException.class, "a second free, after a neighbour was freed,", () -> allocator.free(freed));
        allocator.free(kept);
    }

    @ConformanceTest
    void required_A06_aFreeInsideABlockIsRefused(Subject subject) {
        final Allocator allocator = subject.allocator();
        final long address = allocator.alloc(8192);
        for (final long offset : new long[] {1, 256, 4096, 8191}) {
            Expect.rejection(
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
            Expect.rejection(
                    InvalidFreeException.class,
                    "free of " + Expect.hex(foreign) + ", which was never allocated,",
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
            Expect.rejection(InvalidFreeException.class, "free of a wrong address", () -> allocator.free(wrong));
        }
        Expect.that(
                allocator.stats().withoutCounters().equals(before.withoutCounters()),
                "rejected frees changed the statistics from %s to %s",
                before,
                allocator.stats());
        allocator.free(kept);
    }
}
