package allocator.conformance.rules.blocks;

import allocator.conformance.rules.AllocationCalls;
import allocator.conformance.rules.Chapter;
import allocator.conformance.rules.ConformanceTest;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.OutOfMemoryException;

/** Limits that do not fit an {@code int}. */
public abstract class SizeRules extends Chapter {
    private static final long MIB = 1 << 20;
    private static final long GIB = 1L << 30;

    private static final long[] LIMITS = {2 * GIB, 2 * GIB + MIB, 3 * GIB, 4 * GIB, 4 * GIB + MIB, 9 * GIB};

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
