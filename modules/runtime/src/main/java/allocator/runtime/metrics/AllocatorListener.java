package allocator.runtime.metrics;

/**
 * Learns which instances of allocators are in use. Called by the thread that opens or closes a session, changes the
 * environment, or frees a last block; one call at a time. It must not call the environment, and should return soon.
 * What it throws is logged.
 */
public interface AllocatorListener {
    /**
     * Called when an instance is in use, and at the beginning for each that is.
     *
     * @param allocator the instance
     */
    void added(ObservedAllocator allocator);

    /**
     * Called when an instance has no user any more, and at the end of the observation for each that is in use. An
     * instance that is released between other changes is reported at the next.
     *
     * @param allocator the same object as at {@link #added}
     */
    void removed(ObservedAllocator allocator);
}
