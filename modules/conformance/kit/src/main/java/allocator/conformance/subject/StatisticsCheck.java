package allocator.conformance.subject;

import allocator.spi.AllocatorStats;
import java.util.Optional;

/** Checks that the counters of one snapshot are consistent with one another (S-02). */
public final class StatisticsCheck {
    private StatisticsCheck() {}

    /** Returns a description of the first inconsistency, or empty. */
    public static Optional<String> fault(AllocatorStats stats, boolean isArena) {
        if (stats.requestedBytesInUse() > stats.bytesInUse()) {
            return Optional.of("requestedBytesInUse is %d, more than bytesInUse %d"
                    .formatted(stats.requestedBytesInUse(), stats.bytesInUse()));
        }
        if (stats.bytesInUse() > stats.bytesHeld()) {
            return Optional.of(
                    "bytesInUse is %d, more than bytesHeld %d".formatted(stats.bytesInUse(), stats.bytesHeld()));
        }
        if (stats.bytesHeld() > stats.peakBytesHeld()) {
            return Optional.of(
                    "bytesHeld is %d, more than its peak %d".formatted(stats.bytesHeld(), stats.peakBytesHeld()));
        }
        if (stats.bytesInUse() > stats.peakBytesInUse()) {
            return Optional.of(
                    "bytesInUse is %d, more than its peak %d".formatted(stats.bytesInUse(), stats.peakBytesInUse()));
        }
        if (isArena && stats.bytesInUse() + stats.freeBytes() != stats.bytesHeld()) {
            return Optional.of("in an arena, bytesInUse %d and freeBytes %d make bytesHeld, which is %d"
                    .formatted(stats.bytesInUse(), stats.freeBytes(), stats.bytesHeld()));
        }
        if (stats.largestFreeChunk() > stats.freeBytes()) {
            return Optional.of("largestFreeChunk is %d, more than freeBytes %d"
                    .formatted(stats.largestFreeChunk(), stats.freeBytes()));
        }
        return Optional.empty();
    }

    /** Returns whether statistics differ at most by free memory that went back to the device. */
    static boolean isSameButForReturns(AllocatorStats before, AllocatorStats now) {
        return withoutFree(before).equals(withoutFree(now))
                && now.bytesHeld() <= before.bytesHeld()
                && now.freeBytes() <= before.freeBytes()
                && now.numArenaExtensions() <= before.numArenaExtensions()
                && now.numArenaShrinkages() >= before.numArenaShrinkages();
    }

    /** Returns the counters that free memory does not show in. */
    private static AllocatorStats withoutFree(AllocatorStats stats) {
        return new AllocatorStats.Builder()
                .limit(stats.limit())
                .inUse(stats.bytesInUse(), stats.requestedBytesInUse(), stats.peakBytesInUse())
                .held(0, stats.peakBytesHeld())
                .calls(stats.numAllocs(), stats.numReserves(), stats.numFailedAllocs(), stats.maxAllocSize())
                .build();
    }

    /**
     * Returns a description of the first counter that fell between two snapshots although it never does, or empty:
     * peaks, and counts of calls (S-01, S-02).
     */
    public static Optional<String> fall(AllocatorStats before, AllocatorStats now) {
        return fall("peakBytesInUse", before.peakBytesInUse(), now.peakBytesInUse())
                .or(() -> fall("peakBytesHeld", before.peakBytesHeld(), now.peakBytesHeld()))
                .or(() -> fall("maxAllocSize", before.maxAllocSize(), now.maxAllocSize()))
                .or(() -> fall("numAllocs", before.numAllocs(), now.numAllocs()))
                .or(() -> fall("numReserves", before.numReserves(), now.numReserves()))
                .or(() -> fall("numFailedAllocs", before.numFailedAllocs(), now.numFailedAllocs()))
                .or(() -> fall("numArenaShrinkages", before.numArenaShrinkages(), now.numArenaShrinkages()));
    }

    private static Optional<String> fall(String name, long before, long now) {
        return now >= before ? Optional.empty() : Optional.of("%s fell from %d to %d".formatted(name, before, now));
    }
}
