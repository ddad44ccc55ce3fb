package allocator.conformance.subject;

import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import allocator.spi.OutOfMemoryException;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;

/** What an allocator adds to each block of a round size, such as a header: rounding, so within a limit. */
final class Padding {
    /** Tests divide a limit by up to 64; more padding than a part of that is no header but a size class. */
    private static final int LARGEST_PART = 32;

    /** The most that is allocated first, so that an arena has a region of which it splits what is measured. */
    private static final long LARGEST_REGION = 64 << 20;

    /** More than any device has. */
    private static final long TOO_MUCH = 1L << 50;

    private Padding() {}

    /**
     * Returns what is added to a block of a size that is a multiple of many others; 0 if it is not known or so large
     * that it depends on the size.
     *
     * @param allocator one that is used for nothing else, and has the room
     * @param kind the call that allocates
     */
    static long of(Subject subject, Allocator allocator, long byteSize, Function<Allocator, LongUnaryOperator> kind) {
        final LongUnaryOperator call = kind.apply(allocator);
        final long padding;
        if (subject.counts(allocator)) {
            allocator.free(allocator.alloc(Math.min(4 * byteSize, LARGEST_REGION)));
            padding = counted(allocator, call, byteSize);
        } else {
            padding = stated(allocator, call);
        }
        return padding <= byteSize / LARGEST_PART ? padding : 0;
    }

    /** Returns what a block has in use beyond its size. */
    static long counted(Allocator allocator, LongUnaryOperator call, long byteSize) {
        final AllocatorStats before = allocator.stats();
        final long address = call.applyAsLong(byteSize);
        final AllocatorStats after = allocator.stats();
        allocator.free(address);
        return Math.max(0, after.bytesInUse() - before.bytesInUse() - byteSize);
    }

    /** Returns what a shortage adds to a size, 0 if it does not say. */
    private static long stated(Allocator allocator, LongUnaryOperator call) {
        try {
            allocator.free(call.applyAsLong(TOO_MUCH));
            return 0;
        } catch (OutOfMemoryException e) {
            return Math.max(0, e.shortage().rounded() - TOO_MUCH);
        }
    }
}
