package allocator.arena;

/**
 * What was still live when an arena was closed, and what went back to the device.
 *
 * @param liveAllocations allocations and reserves that were never freed
 * @param liveBytes what their callers had asked for
 * @param bytesReturned bytes returned to the upstream allocator
 */
public record CloseReport(long liveAllocations, long liveBytes, long bytesReturned) {}
