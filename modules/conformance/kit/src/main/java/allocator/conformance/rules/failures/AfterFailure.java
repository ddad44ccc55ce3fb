package allocator.conformance.rules.failures;

import allocator.conformance.subject.Blocks;
import allocator.conformance.subject.Expect;
import allocator.conformance.subject.StatisticsCheck;
import allocator.conformance.subject.Subject;
import allocator.spi.Allocator;
import allocator.spi.AllocatorStats;
import java.util.Map;

/** What holds once a device that failed works again. */
final class AfterFailure {
    private AfterFailure() {}

    /**
     * Requires that an allocator has lost nothing and works, and frees what is live.
     *
     * @param live the sizes that were requested, by address
     * @param counts whether the allocator counts what is in use and held
     * @param byteSize what it has to allocate
     * @param after what failed, for messages
     */
    static void requireUsable(
            Subject subject, Allocator allocator, Map<Long, Long> live, boolean counts, long byteSize, String after) {
        final Blocks blocks = new Blocks();
        live.forEach(blocks::add);
        if (counts) {
            final AllocatorStats stats = allocator.stats();
            final long requested =
                    live.values().stream().mapToLong(Long::longValue).sum();
            Expect.that(
                    stats.requestedBytesInUse() == requested,
                    "%s%d bytes are live; requestedBytesInUse is %d",
                    after,
                    requested,
                    stats.requestedBytesInUse());
            StatisticsCheck.fault(stats, false).ifPresent(fault -> Expect.that(false, "%s%s", after, fault));
            final long held = subject.heldByDevice(stats.bytesHeld());
            Expect.that(
                    stats.bytesHeld() == held, "%sbytesHeld is %d; the device gave %d", after, stats.bytesHeld(), held);
        }
        final long next;
        try {
            next = allocator.alloc(byteSize);
        } catch (Throwable e) {
            throw Expect.failure(
                    after + "an allocation failed although the device works again: " + Expect.describe(e), e);
        }
        blocks.add(next, byteSize);
        allocator.free(next);
        live.keySet().forEach(allocator::free);
    }
}
