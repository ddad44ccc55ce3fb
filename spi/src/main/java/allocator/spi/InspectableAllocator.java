package allocator.spi;

/**
 * An allocator that can list its memory: regions, chunks and blocks, for people who ask where memory is. A capability
 * like {@link HostAccessibleAllocator}, at any {@link SpiLevel}. Nothing depends on it but reports: an allocator
 * without it obeys the contract as well.
 */
public interface InspectableAllocator extends Allocator {
    /**
     * {@return the regions, chunks and blocks that this allocator holds}
     *
     * <p>May be called at any time and by any thread, also from within the handling of an {@link OutOfMemoryException}.
     * Each lane is described as it was at one moment; the moments of different lanes may differ.
     *
     * @implSpec The call changes nothing: it takes and returns no memory, merges nothing, and no counter of
     *     {@link #stats} shows it. It calls no device and waits for none. Other calls wait for it for at most a
     *     millisecond per 10,000 chunks of the lane that they use.
     * @throws AllocatorClosedException if this allocator is closed
     */
    AllocatorSnapshot inspect();
}
