package allocator.spi;

/**
 * What a shrink released, what is still held, and why.
 *
 * @param bytesReleased bytes returned to the device
 * @param regionsReleased device allocations returned; {@code 0} if the allocator has no regions
 * @param bytesHeld bytes still held afterwards
 * @param regionsInUse device allocations that are held because they contain a live block
 * @param regionsKept free device allocations that are held by a rule of the allocator
 */
public record ShrinkReport(
        long bytesReleased, int regionsReleased, long bytesHeld, int regionsInUse, int regionsKept) {}
