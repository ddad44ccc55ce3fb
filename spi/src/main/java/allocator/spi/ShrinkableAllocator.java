package allocator.spi;

/**
 * An allocator that holds more memory than is in use and can give it back. From {@link SpiLevel#SHRINK} on; the runtime
 * then sees it as an arena.
 */
public interface ShrinkableAllocator extends Allocator {
    /**
     * Returns unused memory to the device, as far as the allocator's rules allow. Live allocations are untouched
     * (K-01). May block on the device for as long as it takes to give memory back.
     *
     * @implSpec What is reported as released was really returned, and {@link AllocatorStats#bytesHeld} fell by it
     *     (K-02). An arena returns each region in which nothing is live, and may keep its first (K-02). Memory that the
     *     device may still be using is not returned before it is done (K-03).
     * @return what went back and what stays
     * @throws DeviceException if the driver fails; the statistics then tell what is still held
     * @throws AllocatorClosedException if this allocator is closed
     */
    ShrinkReport shrink();
}
