package allocator.provider.support;

/**
 * A capability of an allocator that takes memory from a device: it reports the memory that its device failed to take
 * back. A free has its effect whatever the device says, so the memory belongs to the allocator, and to no block.
 *
 * <p>An arena asks its upstream allocator for it with {@link allocator.spi.Allocator#as}: the memory counts towards the
 * arena's limit, and the arena offers it to the device again at a shrink and before a request fails.
 */
public interface UnreturnedMemory {
    /** {@return the bytes that the device has failed to take back, and has not taken since; does not wait for it} */
    long unreturnedBytes();

    /**
     * Offers that memory to the device again, each block once. While an allocation is under way only what waits for its
     * stream is offered, since the device may have taken the rest although it reported a failure, and may be handing it
     * out. May block as long as the device does. Returns normally also if the device fails again.
     *
     * @return the bytes that the device has taken back
     */
    long returnAgain();
}
