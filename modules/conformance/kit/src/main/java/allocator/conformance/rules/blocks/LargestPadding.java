package allocator.conformance.rules.blocks;

import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import java.util.Map;

/**
 * What an allocator adds to a size near the largest {@code long}, as far as smaller sizes show it: a granule adds the
 * same to all sizes with the same last bits, and a header the same to every size.
 *
 * @param atPower what it adds to a size with these bits just below a power of two
 * @param between what it adds to one that lies between such powers, and between quarters of them
 */
record LargestPadding(long atPower, long between) {
    private static final long REGION = 1 << 24;
    private static final long POWER = 1 << 22;
    private static final long BETWEEN = (1 << 22) + (1 << 20) + (3 << 17) + (1 << 16);

    /**
     * Measures with sizes that have the last bits of {@code Long.MAX_VALUE - less}, where the allocator counts: on one
     * of its own, whose cache has nothing that is a little larger.
     */
    static LargestPadding of(Subject subject, long less) {
        if (less >= POWER - 1) {
            return new LargestPadding(0, 0);
        }
        final Allocator fresh = subject.exclusive(Map.of());
        final LargestPadding padding;
        if (subject.counts(fresh)) {
            fresh.free(fresh.alloc(REGION)); // an arena then has a region of which it splits what is measured
            padding = new LargestPadding(
                    subject.paddingOf(fresh, fresh::alloc, POWER - 1 - less),
                    subject.paddingOf(fresh, fresh::alloc, BETWEEN - 1 - less));
        } else {
            padding = new LargestPadding(0, 0);
        }
        subject.release(fresh);
        return padding;
    }

    /** Returns what is added to both sizes at least: what depends on the size apart. */
    long least() {
        return Math.min(atPower, between);
    }

    /** Returns whether more is added for certain: not if that depends on the size. */
    boolean isMoreThan(long less) {
        return atPower == between && atPower > less;
    }
}
