package allocator.runtime.metrics;

/** What JMX shows of an instance of an allocator. Sizes are bytes, and 0 where the provider does not count. */
public interface AllocatorMXBean {
    /**
     * Returns the provider's name.
     *
     * @return the name
     */
    String getProvider();

    /**
     * Returns the name of the memory.
     *
     * @return the name
     */
    String getMemory();

    /**
     * Returns the device.
     *
     * @return the device, such as {@code gpu:0}
     */
    String getDevice();

    /**
     * Returns who uses the allocator.
     *
     * @return names of sessions, or {@code environment}
     */
    String[] getUsers();

    /**
     * Returns the live blocks of all users.
     *
     * @return the number
     */
    long getLiveBlocks();

    /**
     * Returns the limit of what is held.
     *
     * @return bytes, -1 for none
     */
    long getLimit();

    /**
     * Returns the bytes in use, padding included.
     *
     * @return bytes
     */
    long getBytesInUse();

    /**
     * Returns the peak of the bytes in use.
     *
     * @return bytes
     */
    long getPeakBytesInUse();

    /**
     * Returns the bytes requested of live blocks.
     *
     * @return bytes
     */
    long getBytesRequested();

    /**
     * Returns the bytes taken from the device.
     *
     * @return bytes
     */
    long getBytesHeld();

    /**
     * Returns the peak of the bytes held.
     *
     * @return bytes
     */
    long getPeakBytesHeld();

    /**
     * Returns the bytes held that are free.
     *
     * @return bytes
     */
    long getFreeBytes();

    /**
     * Returns the largest free chunk.
     *
     * @return bytes
     */
    long getLargestFreeChunk();

    /**
     * Returns the allocations so far.
     *
     * @return the number
     */
    long getAllocations();

    /**
     * Returns the allocations that failed.
     *
     * @return the number
     */
    long getFailedAllocations();
}
