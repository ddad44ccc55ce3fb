package allocator.conformance.runner.simple;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

/** A realistic fault of a provider, with the rules it breaks and words of the message that reports it. */
public enum Fault {
    NONE("", ""),

    OVERLAP_AFTER_COALESCE(
            "A-03 A-06 A-09 C-01 K-01 K-02 S-02 T-08 S-01 R-01 A-10 K-04 T-05", "the two blocks overlap"),
    REUSE_BEFORE_THE_STREAM_IS_DONE("T-03", "while work of the first stream may still use"),
    STAMP_WHEN_TAKEN("T-03", "between the wait and the free is not covered"),
    MERGE_KEEPS_ONE_STREAM("T-03", "merged"),
    NO_STREAM_TAKES_ALL("T-03", "without a stream"),
    PADDING_COUNTED_AS_REQUESTED("S-01", "requestedBytesInUse"),
    IN_USE_DRIFTS("S-04 S-01 S-02 A-07 F-04 O-03 A-03 A-08 F-10", "everything is freed"),
    PEAK_FOLLOWS_THE_MOMENT("S-01 S-02", "peakBytesInUse"),
    FREE_BYTES_FORGET_THE_TAIL("S-02", "freeBytes"),
    OWN_COUNTER_DECREASES("S-06", "is monotone; its value went"),
    OWN_COUNTER_CHANGES_ITS_UNIT("S-06", "the counter Counter["),
    RESERVE_PASSES_THE_LIMIT("R-01 S-03 S-05", "reserve"),
    RESERVE_COMES_FROM_REGIONS("R-02", "a reserve of"),
    LIMIT_ONLY_REPORTED("S-03 A-05 A-07 O-05 O-06 R-01 S-05", "limit"),
    LIMIT_CHECKED_OUTSIDE_THE_LOCK("S-03", "four threads together"),
    RELEASE_FREES_TOO_EARLY("F-04 A-07 C-02 S-01 F-02 F-05", "the other must still work"),
    RELEASE_RETURNS_NOTHING("F-04", "still taken from the device"),
    DOUBLE_FREE_ACCEPTED("A-06", "second free"),
    INTERIOR_FREE_ACCEPTED("A-06 A-07", "inside a live block"),
    FOREIGN_FREE_IGNORED("A-06", "never allocated"),
    ALIGNMENT_LOST_WHEN_LARGE("A-04", "no multiple of the alignment"),
    SHRINK_REPORT_LIES("K-02", "bytes released"),
    SHRINK_EXPLAINS_TOO_LITTLE("K-02", "gives reasons for"),
    SHRINK_STATISTICS_LIE("K-02", "the device got"),
    SHRINK_RETURNS_NOTHING("K-02", "are still held"),
    REGIONS_ARE_NEVER_COUNTED_OFF("K-02", "numArenaExtensions"),
    SHRINK_TAKES_LIVE_MEMORY("K-01 A-09", "a live block changed by a shrink"),
    SHRINK_TAKES_QUEUED_MEMORY("K-03", "while a copy into it was queued"),
    SHRINK_BREAKS_THE_NEXT_ALLOCATION("K-04 A-07 C-02 K-01 K-02 A-06 A-09", "unexpected"),
    LEAK_ON_DEVICE_FAILURE("A-07", "the device gave"),
    LOST_ON_AN_ERROR("A-07", "the device gave"),
    FREE_THROWS_WHAT_THE_DEVICE_THROWS("A-06", "takes effect, whatever the device says"),
    REFUSED_MEMORY_IS_HANDED_OUT("A-07", "yet it was handed out again"),
    REFUSED_MEMORY_IS_NOT_OFFERED_AGAIN("A-07 K-02", "which works again, had refused it"),
    RELEASE_HIDES_WHAT_THE_DEVICE_KEPT("F-04", "must throw a DeviceException"),
    SHRINK_REPORTS_REFUSED_MEMORY("K-02", "the device refused memory: a shrink reports"),
    COUNTED_BEFORE_THE_DEVICE_CALL("A-07 A-01", "bytesHeld is"),
    DEADLOCK_OF_ALLOC_AND_STATS("C-02 S-01", "DEADLOCK"),
    VIRTUAL_THREADS_STARVE("C-02 C-01", "hangs"),
    HANGS_WHEN_IMPOSSIBLE("C-02 A-02 A-05 A-07 O-03 S-05", "hangs"),
    ZERO_INSTEAD_OF_EXCEPTION("A-05 A-02 A-04 A-07 C-02 O-05 O-06 R-01 S-05 S-03 A-01 O-03", "accepted"),
    JAVA_OUT_OF_MEMORY_ERROR("A-05 A-02 A-07 C-02 O-03 O-05 O-06 R-01 S-03 S-05 A-01", "OutOfMemoryError"),
    SMALL_REMAINDERS_ARE_LOST("A-05 A-10", "after blocks of random sizes"),
    SHORTAGE_NUMBERS_LIE("A-05", "the shortage says"),
    BROKEN_AFTER_FAILURE("A-07 A-02 A-05 C-02 O-03 O-05 R-01 S-01 S-03 S-05 A-01", "unexpected"),
    ARENA_TYPE_RETURNED("F-06 F-05", "reserved for the runtime"),
    OTHER_INFO_RETURNED("F-05", "requested"),
    UNLISTED_MEMORY_ACCEPTED("F-05 F-08", "which is not listed"),
    UNKNOWN_OPTIONS_SWALLOWED("O-02 F-08 F-02 F-04 F-09 O-01", "unknown key"),
    BAD_VALUES_SWALLOWED("O-01", "which is not"),
    EFFECTIVE_OPTIONS_ECHO("O-03 O-05 O-04", "is effective as 257 instead of 512"),
    EXCLUSIVE_IS_SHARED("O-06", "another user"),
    REGION_SIZE_IGNORED("O-07", "must take a region of 4096 bytes"),
    DEVICE_FAILURE_IS_FINAL("O-07", "no device has room for the first region"),
    BOUND_TO_A_CLOSED_STREAM("T-05 T-04", "the freed memory was not used"),
    BOUND_AFTER_RUN_END("T-04", "unbound"),
    HANDLE_IS_IDENTITY("T-07 T-03", "native handle"),
    CLOSED_STREAMS_TAKE_ROOM("T-07 T-05", "made no room for another"),
    CLOSED_STREAM_ACCEPTED("T-05", "closed stream"),
    NOT_THREAD_SAFE("C-01 C-02 S-01 S-02 S-03 S-04 A-03 A-08 R-01 F-04", ""),
    BOUND_TO_ITS_THREAD("A-08 C-01", "unexpected"),
    SIZE_ZERO_TAKES_MEMORY("A-02", "the empty allocation"),
    ROUNDING_OVERFLOWS("A-01", "alloc(9223372036854775807) was accepted"),
    NEGATIVE_SIZE_IS_EMPTY("A-01", "alloc(-1)"),
    FREED_MEMORY_IS_LOST("A-10 O-07 T-04 T-05 A-08", "held"),
    NEIGHBOUR_OVERWRITTEN("A-09 C-01 K-01", "a live block changed"),
    CLOSED_ALLOCATOR_WORKS("L-02", "after the last release"),
    LEVEL_OF_THE_FUTURE("L-01", "the level is"),
    PRIORITY_CHANGES("F-02", "the priority was"),
    DEVICES_CHANGE("F-02", "discoverDevices return"),
    CONSTRUCTOR_TOUCHES_THE_DEVICE("F-01", "calls to the device"),
    TWO_INFOS_FOR_ONE_LOCATION("M-03", "have the location"),
    RELEASE_OF_ANYTHING_ACCEPTED("F-07 F-04 F-10", "accepted"),
    FAILED_CREATE_COUNTS("F-08 F-09", "counts a reference"),
    CLOSE_FORGETS_REFERENCES("F-09 L-02", "with a reference open"),
    MEMORIES_SHARE_STATISTICS("F-10", "changed the statistics of"),
    FAILURES_COUNT_AS_ALLOCATIONS("S-05 S-01", "numAllocs is"),
    SEGMENT_OF_ROUNDED_SIZE("H-02", "bytes at"),
    SEGMENT_OF_ANY_SIZE("H-02", "was accepted; it must be rejected"),
    SEGMENT_AFTER_CLOSE("L-02", "segment(64) after the last release"),
    DEVICE_MEMORY_AS_SEGMENT("H-01 H-02 A-09", "does not show"),
    COPY_RETURNS_EARLY("D-01", "without a stream"),
    COPY_OVERTAKES_ITS_STREAM("D-02", "on a stream that waited"),
    COPY_TRUNCATES("D-03", "a copy of"),
    RESERVE_OVERLAPS("R-01 A-03 A-04 A-07 A-09 C-01 C-02 K-01 S-01 S-02 T-03 S-04 S-03", "overlap"),
    ONE_STREAM_HOLDS_MORE("T-08 T-04 T-05", "with one stream");

    private final String broken;
    private final String message;

    Fault(String broken, String message) {
        this.broken = broken;
        this.message = message;
    }

    /** Returns the rule that this fault breaks in the first place. */
    public String own() {
        return broken.substring(0, 4);
    }

    /** Returns that rule, and others that the fault may also break. */
    public Set<String> rules() {
        return Arrays.stream(broken.split(" ", -1)).collect(Collectors.toSet());
    }

    /** Returns words that the message contains. */
    public String message() {
        return message;
    }
}
