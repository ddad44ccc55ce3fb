package allocator.arena;

/**
 * Counters of a bump arena at one moment. All sizes are bytes.
 *
 * <p>{@code bytesInUse == requestedBytes + paddingBytes <= bytesHeld}; what the fallback gave is counted apart.
 *
 * @param bytesInUse used since the last reset or rollback, padding included
 * @param requestedBytes of these, asked for
 * @param paddingBytes of these, lost to alignment and to the ends of regions that were too short
 * @param peakBytesInUse the most that {@code bytesInUse} has been: what a single region would have to hold
 * @param bytesHeld taken from the upstream allocator
 * @param regions how many pieces that is
 * @param fallbackBytes live from the fallback allocator
 * @param resets how often everything was freed at once
 */
public record BumpStats(
        long bytesInUse,
        long requestedBytes,
        long paddingBytes,
        long peakBytesInUse,
        long bytesHeld,
        int regions,
        long fallbackBytes,
        long resets) {}
