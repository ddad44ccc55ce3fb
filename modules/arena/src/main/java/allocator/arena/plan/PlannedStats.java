package allocator.arena.plan;

import allocator.spi.AllocatorStats;
import allocator.spi.AllocatorStats.Unit;
import allocator.spi.OutOfMemoryException;
import allocator.spi.OutOfMemoryException.Shortage;

/**
 * The figures of planned memory and of the allocator that it is a reserve of, as those of one allocator. The peak of
 * bytes in use and the largest block are the wrapped allocator's, which has the whole reserve in them.
 *
 * <p>Not safe for use by several threads.
 */
final class PlannedStats {
    private final PlannedMemory memory;

    /** The reserves made for plans. */
    private long attachments;

    /** Failures of the wrapped allocator that no caller saw, or that count once already. */
    private long hiddenFailures;

    PlannedStats(PlannedMemory memory) {
        this.memory = memory;
    }

    void failureHidden() {
        hiddenFailures++;
    }

    void attached() {
        attachments++;
    }

    /** Returns the statistics of both parts. */
    AllocatorStats with(AllocatorStats of) {
        final AllocatorStats.Builder builder = new AllocatorStats.Builder().limit(of.limit());
        if (of.numAllocs() >= attachments) {
            add(of, builder);
        }
        return builder.counters(of.counters())
                .counter("PlannedAllocs", memory.blocks.placed(), Unit.COUNT, true)
                .counter("PlanRuns", memory.course.runs(), Unit.COUNT, true)
                .counter("PlanMismatches", memory.course.mismatches(), Unit.COUNT, true)
                .counter("PlanBusyAllocs", memory.busyCalls(), Unit.COUNT, true)
                .build();
    }

    private void add(AllocatorStats of, AllocatorStats.Builder builder) {
        final long inUse = inUse(of.bytesInUse());
        final boolean countsFree = of.freeBytes() == of.bytesHeld() - of.bytesInUse();
        builder.inUse(
                        inUse,
                        of.requestedBytesInUse() - reserved() + memory.blocks.requestedInUse(),
                        of.peakBytesInUse())
                .held(of.bytesHeld(), of.peakBytesHeld())
                .free(countsFree ? of.bytesHeld() - inUse : of.freeBytes(), of.largestFreeChunk())
                .calls(
                        of.numAllocs() - attachments + memory.blocks.placed(),
                        Math.max(0, of.numReserves() - attachments),
                        Math.max(0, of.numFailedAllocs() - hiddenFailures),
                        of.maxAllocSize())
                .regions(of.numArenaExtensions(), of.numArenaShrinkages());
    }

    private long reserved() {
        return memory.base() == PlannedMemory.NO_ADDRESS ? 0 : memory.table.height();
    }

    private long inUse(long bytes) {
        return bytes - reserved() + memory.blocks.inUse();
    }

    /** Returns a failure of the wrapped allocator with the bytes that are in use in both parts. */
    OutOfMemoryException with(OutOfMemoryException failure) {
        final Shortage of = failure.shortage();
        if (reserved() == 0 || of.inUse() < reserved() || !of.limitedBy().isEmpty()) {
            return failure;
        }
        final String message = String.valueOf(failure.getMessage());
        final int figures = message.lastIndexOf(" [" + of.memory());
        return new OutOfMemoryException(
                figures < 0 ? message : message.substring(0, figures),
                new Shortage(
                        of.memory(),
                        of.requested(),
                        of.rounded(),
                        of.limit(),
                        inUse(of.inUse()),
                        of.held(),
                        of.largestFree(),
                        of.deviceFree()),
                failure.dump(),
                failure);
    }
}
