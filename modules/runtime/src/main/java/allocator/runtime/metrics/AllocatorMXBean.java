package allocator.runtime.metrics;

/** What JMX shows of an instance of an allocator. Sizes are bytes, and 0 where the provider does not count. */
public interface AllocatorMXBean {
    /** {@return the provider's name} */
    String getProvider();

    /** {@return the name of the memory} */
    String getMemory();

    /** {@return the device, such as {@code gpu:0}} */
    String getDevice();

    /** {@return who uses the allocator: names of sessions, or {@code environment}} */
    String[] getUsers();

    /** {@return the live blocks of all users} */
    long getLiveBlocks();

    /** {@return the limit of what is held, in bytes, -1 for none} */
    long getLimit();

    /** {@return the bytes in use, padding included} */
    long getBytesInUse();

    /** {@return the peak of the bytes in use} */
    long getPeakBytesInUse();

    /** {@return the bytes requested of live blocks} */
    long getBytesRequested();

    /** {@return the bytes taken from the device} */
    long getBytesHeld();

    /** {@return the peak of the bytes held} */
    long getPeakBytesHeld();

    /** {@return the bytes held that are free} */
    long getFreeBytes();

    /** {@return the bytes of the largest free chunk} */
    long getLargestFreeChunk();

    /** {@return the bytes that blocks with one copy save} */
    long getSharedBytes();

    /** {@return the bytes of blocks whose pages are with the device, as sessions sleep} */
    long getAsleepBytes();

    /** {@return the allocations so far} */
    long getAllocations();

    /** {@return the allocations that failed} */
    long getFailedAllocations();
}
