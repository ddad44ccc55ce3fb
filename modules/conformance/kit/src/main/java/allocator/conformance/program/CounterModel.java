package allocator.conformance.program;

import allocator.conformance.subject.StatisticsCheck;
import allocator.spi.AllocatorStats;

/** The counters that an allocator must report: those at the start of a program, and the effects of its steps. */
final class CounterModel {
    private final AllocatorStats first;
    private final boolean isArena;
    private long requestedInUse;
    private long allocs;
    private long reserves;
    private long failures;
    private long highest;

    CounterModel(AllocatorStats first, boolean isArena) {
        this.first = first;
        this.isArena = isArena;
    }

    long requestedInUse() {
        return requestedInUse;
    }

    void allocated(long byteSize, boolean isReserve) {
        requestedInUse += byteSize;
        allocs++;
        reserves += isReserve ? 1 : 0;
        highest = Math.max(highest, requestedInUse);
    }

    void freed(long byteSize) {
        requestedInUse -= byteSize;
    }

    void failed() {
        failures++;
    }

    /**
     * Compares statistics with this model.
     *
     * @throws RuleViolation at the first counter that is wrong
     */
    void check(AllocatorStats stats) {
        RuleViolation.unless(
                stats.requestedBytesInUse() == requestedInUse,
                "S-01",
                "requestedBytesInUse is %d; the live blocks were requested with %d",
                stats.requestedBytesInUse(),
                requestedInUse);
        StatisticsCheck.fault(stats, isArena).ifPresent(fault -> RuleViolation.unless(false, "S-02", "%s", fault));
        checkCalls("numAllocs", stats.numAllocs(), first.numAllocs(), allocs);
        checkCalls("numReserves", stats.numReserves(), first.numReserves(), reserves);
        checkCalls("numFailedAllocs", stats.numFailedAllocs(), first.numFailedAllocs(), failures);
        RuleViolation.unless(
                stats.peakBytesInUse() >= highest,
                "S-01",
                "peakBytesInUse is %d; %d were live at once",
                stats.peakBytesInUse(),
                highest);
        if (stats.limit() >= 0) {
            RuleViolation.unless(
                    stats.peakBytesHeld() <= stats.limit(),
                    "S-03",
                    "bytesHeld reached %d, past the limit of %d",
                    stats.peakBytesHeld(),
                    stats.limit());
        }
    }

    /** A counter of calls is exact, or always 0 because the allocator does not count these calls. */
    private static void checkCalls(String name, long now, long before, long calls) {
        RuleViolation.unless(
                now == before + calls || now == 0,
                "S-01",
                "%s is %d; it was %d before %d such calls",
                name,
                now,
                before,
                calls);
    }
}
