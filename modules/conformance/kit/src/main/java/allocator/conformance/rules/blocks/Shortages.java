package allocator.conformance.rules.blocks;

import allocator.conformance.subject.Expect;
import allocator.spi.Allocator;
import allocator.spi.OutOfMemoryException;
import java.util.function.LongUnaryOperator;

/** Requests that fail. */
final class Shortages {
    /** More bytes than any device has. */
    static final long ABSURD = 1L << 50;

    private Shortages() {}

    /** Makes a call fail; returns whether the failure is counted. */
    static boolean isCounted(Allocator allocator, LongUnaryOperator call) {
        final long before = allocator.stats().numFailedAllocs();
        Expect.rejection(OutOfMemoryException.class, "a request of 2^50 bytes", () -> call.applyAsLong(ABSURD));
        return allocator.stats().numFailedAllocs() != before;
    }
}
