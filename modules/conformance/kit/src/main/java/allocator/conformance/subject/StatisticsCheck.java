package allocator.conformance.subject;

import allocator.spi.AllocatorStats;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** Compares counters: those of one snapshot with one another (S-02), and those of two snapshots. */
public final class StatisticsCheck {
    private static final Map<String, ToLongFunction<AllocatorStats>> FIELDS = new LinkedHashMap<>();

    static {
        FIELDS.put("limit", AllocatorStats::limit);
        FIELDS.put("bytesInUse", AllocatorStats::bytesInUse);
        FIELDS.put("requestedBytesInUse", AllocatorStats::requestedBytesInUse);
        FIELDS.put("bytesHeld", AllocatorStats::bytesHeld);
        FIELDS.put("freeBytes", AllocatorStats::freeBytes);
        FIELDS.put("largestFreeChunk", AllocatorStats::largestFreeChunk);
        FIELDS.put("peakBytesInUse", AllocatorStats::peakBytesInUse);
        FIELDS.put("peakBytesHeld", AllocatorStats::peakBytesHeld);
        FIELDS.put("maxAllocSize", AllocatorStats::maxAllocSize);
        FIELDS.put("numAllocs", AllocatorStats::numAllocs);
        FIELDS.put("numReserves", AllocatorStats::numReserves);
        FIELDS.put("numFailedAllocs", AllocatorStats::numFailedAllocs);
        FIELDS.put("numArenaExtensions", AllocatorStats::numArenaExtensions);
        FIELDS.put("numArenaShrinkages", AllocatorStats::numArenaShrinkages);
    }

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

    /** Returns the fields that differ, such as {@code numAllocs from 3 to 4}; empty if they are the same. */
    public static String changes(AllocatorStats before, AllocatorStats now) {
        return FIELDS.entrySet().stream()
                .filter(field ->
                        field.getValue().applyAsLong(now) != field.getValue().applyAsLong(before))
                .map(field -> field.getKey() + " from " + field.getValue().applyAsLong(before) + " to "
                        + field.getValue().applyAsLong(now))
                .collect(Collectors.joining(", "));
    }
}
