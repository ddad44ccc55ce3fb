package allocator.conformance.rules.regions;

import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.ProcessMemory;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorException;
import allocator.spi.ShrinkableAllocator;
import allocator.spi.SpiLevel;
import java.util.Map;
import java.util.OptionalLong;

/** Memory that goes back, as this process shows it: where the process shows the memory, no probe is needed. */
public abstract class ReturnRules extends Chapter {
    private static final long MIB = 1 << 20;

    /** What each round would lose: more than a C library takes from a heap of its own, whose gaps would hide it. */
    private static final long BLOCK = 40 * MIB;

    private static final int ROUNDS = 24;

    /** What an attempt must make to show growth; a repeated one makes so many even if the time is over. */
    private static final int FEWEST_ROUNDS = 4;

    /** Less than half of what all rounds would lose; more than a process grows otherwise. */
    private static final long GROWTH = 400 * MIB;

    /** A process may grow for other reasons once, but not whenever the same calls are made. */
    private static final int ATTEMPTS = 3;

    private static void requireNoGrowth(Subject subject, String what, Runnable round) {
        requireWitness(subject);
        for (int attempt = 0; ; attempt++) {
            round.run();
            final OptionalLong before = ProcessMemory.mapped();
            if (before.isEmpty()) {
                throw Expect.skip("the memory of the process is known on Linux only");
            }
            final boolean isRepeated = attempt > 0;
            int rounds = 0;
            while (rounds < ROUNDS && (subject.hasTime() || (isRepeated && rounds < FEWEST_ROUNDS))) {
                round.run();
                rounds++;
            }
            final long growth = ProcessMemory.mapped().orElse(0) - before.getAsLong();
            final boolean isComplete = rounds == ROUNDS;
            final boolean hasGrown = rounds >= FEWEST_ROUNDS && growth >= GROWTH / ROUNDS * rounds;
            if (isComplete && !hasGrown) {
                return;
            }
            if (!hasGrown) {
                throw Expect.skip("%d of %d rounds were made in the time that a test has", rounds, ROUNDS);
            }
            // Where the time is over, what two attempts have shown is enough.
            Expect.that(
                    attempt < ATTEMPTS - 1 && (isComplete || !isRepeated),
                    "%s, %d times with %d bytes each: the process grew by %d bytes in all, and so it did before",
                    what,
                    rounds,
                    BLOCK,
                    growth);
        }
    }

    /** Skips the test unless the process shows a block of the memory. */
    private static void requireWitness(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        final OptionalLong before = ProcessMemory.mapped();
        if (before.isEmpty()) {
            throw Expect.skip("the memory of the process is known on Linux only");
        }
        final long address = allocator.alloc(2 * BLOCK);
        final long growth = ProcessMemory.mapped().orElse(0) - before.getAsLong();
        allocator.free(address);
        subject.release(allocator);
        if (growth < BLOCK) {
            throw Expect.skip("the process does not show this memory: it grew by %d bytes for %d", growth, 2 * BLOCK);
        }
    }

    @ConformanceTest
    void required_F04_releasedMemoryLeavesTheProcess(Subject subject) {
        requireNoGrowth(subject, "an allocator was created, used and released with a live block", () -> {
            final Allocator allocator = subject.exclusive(Map.of());
            allocator.alloc(BLOCK);
            allocator.free(allocator.alloc(BLOCK / 2));
            if (allocator.spiLevel() >= SpiLevel.RESERVE) {
                allocator.reserve(BLOCK / 2);
            }
            subject.release(allocator);
        });
    }

    @ConformanceTest
    void required_A10_freedMemoryDoesNotFillTheProcess(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        final boolean reserves = allocator.spiLevel() >= SpiLevel.RESERVE;
        requireNoGrowth(subject, "blocks of alternating sizes were allocated and freed", () -> {
            allocator.free(allocator.alloc(BLOCK));
            allocator.free(allocator.alloc(BLOCK / 2));
            allocator.free(allocator.alloc(1000));
            if (reserves) {
                allocator.free(allocator.reserve(BLOCK));
            }
        });
    }

    @ConformanceTest
    void required_R02_freedReservesLeaveTheProcess(Subject subject) {
        final Allocator allocator = subject.exclusive(Map.of());
        subject.requireReserve(allocator);
        subject.requireArena(allocator);
        requireNoGrowth(subject, "a block was reserved and freed", () -> allocator.free(allocator.reserve(BLOCK)));
    }

    @ConformanceTest
    void required_K02_shrunkMemoryLeavesTheProcess(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(Map.of()));
        requireNoGrowth(subject, "a block was allocated and freed, and the allocator shrunk", () -> {
            allocator.free(allocator.alloc(BLOCK));
            allocator.shrink();
        });
    }

    @ConformanceTest
    void required_K02_shrunkRegionsOfSmallBlocksLeaveTheProcess(Subject subject) {
        final ShrinkableAllocator allocator = subject.shrinkable(subject.exclusive(Map.of()));
        final long byteSize = 24_000;
        requireNoGrowth(subject, "blocks of 24000 bytes were allocated and freed, and the allocator shrunk", () -> {
            final long[] live = new long[(int) (BLOCK / byteSize)];
            for (int i = 0; i < live.length; i++) {
                live[i] = allocator.alloc(byteSize);
            }
            for (final long address : live) {
                allocator.free(address);
            }
            allocator.shrink();
        });
    }

    @ConformanceTest
    void required_F08_rejectedCreatesLeaveNoMemory(Subject subject) {
        requireNoGrowth(subject, "creates were rejected", () -> {
            for (int i = 0; i < 10; i++) {
                try {
                    subject.release(subject.create(subject.memory(), Map.of("no.such.key", "1")));
                } catch (AllocatorException rejected) {
                    Expect.that(rejected.getMessage() != null, "a create was rejected without a message");
                }
            }
        });
    }
}
