package allocator.arena.bump;

/**
 * The counters of a bump arena at one moment. All sizes are in bytes.
 *
 * <p>{@code bytesInUse == requestedBytes + paddingBytes <= bytesHeld}. Blocks of the fallback allocator are counted in
 * {@code fallbackBytes} only.
 *
 * @param bytesInUse bytes used since the last reset or rollback, padding included
 * @param requestedBytes the part of {@code bytesInUse} that callers requested
 * @param paddingBytes the part of {@code bytesInUse} lost to alignment and at the ends of regions
 * @param peakBytesInUse highest value of {@code bytesInUse}: the size that a single region would need
 * @param bytesHeld bytes taken from the upstream allocator
 * @param regions number of regions in {@code bytesHeld}
 * @param fallbackBytes bytes in live blocks of the fallback allocator
 * @param resets number of resets
 */
public record BumpStats(
        long bytesInUse,
        long requestedBytes,
        long paddingBytes,
        long peakBytesInUse,
        long bytesHeld,
        int regions,
        long fallbackBytes,
        long resets) {
    /**
     * {@return the free bytes of what is held: {@code bytesHeld - bytesInUse}, {@code 0} before the first region} A
     * request may find less: a region's end is skipped if the request does not fit there, and alignment takes padding.
     */
    public long freeBytes() {
        return bytesHeld - bytesInUse;
    }
}
