package allocator.spi;

/**
 * What a shrink gave back, and what it left and why.
 *
 * @param bytesReleased bytes returned to the device
 * @param regionsReleased device allocations returned; {@code 0} where the allocator has no such notion
 * @param bytesHeld bytes still taken from the device afterwards
 * @param regionsInUse device allocations that stay because a live allocation lies in them
 * @param regionsKept device allocations that are free and stay by a rule of the allocator
 */
public record ShrinkReport(
        long bytesReleased, int regionsReleased, long bytesHeld, int regionsInUse, int regionsKept) {}
