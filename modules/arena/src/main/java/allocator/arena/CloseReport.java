package allocator.arena;

/**
 * Reports what was live when an arena was closed, and what was returned to the upstream allocator.
 *
 * @param liveAllocations number of allocations and reserves that were never freed
 * @param liveBytes bytes that their callers had requested
 * @param bytesReturned bytes returned to the upstream allocator
 */
public record CloseReport(long liveAllocations, long liveBytes, long bytesReturned) {
    /** Returns the sum of this report and another one. */
    CloseReport plus(CloseReport other) {
        return new CloseReport(
                liveAllocations + other.liveAllocations,
                liveBytes + other.liveBytes,
                bytesReturned + other.bytesReturned);
    }
}
