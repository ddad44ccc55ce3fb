package allocator.spi;

/**
 * An allocator that holds unused memory and can return it to the device. From {@link SpiLevel#SHRINK} on; the runtime
 * then treats it as an arena.
 */
public interface ShrinkableAllocator extends Allocator {
    /**
     * Returns unused memory to the device, as far as the allocator's rules allow. Live blocks are not affected (K-01).
     * May block on the device while memory is returned.
     *
     * @implSpec The bytes reported as released were returned, and {@link AllocatorStats#bytesHeld} fell by them; memory
     *     that the device refused is not among them, and memory that it refused before is offered again (K-02, A-07).
     *     An arena returns each region without a live block, and may hold its first region; an allocator that is none
     *     may keep free memory (K-02). Memory that the device may still be using is not returned before the work is
     *     complete (K-03).
     * @return what was released and what is still held
     * @throws DeviceException if the driver fails; the statistics report what is still held
     * @throws AllocatorClosedException if this allocator is closed
     */
    ShrinkReport shrink();
}
