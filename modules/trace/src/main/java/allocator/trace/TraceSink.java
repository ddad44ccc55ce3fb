package allocator.trace;

/** Receives the events of a trace, in order. */
public interface TraceSink {
    /**
     * Receives an allocation.
     *
     * @param id the block's id in the trace; no live block has it
     * @param slot a small number that identifies the live block: below the peak number of live blocks so far, and
     *     reused after the free
     * @param byteSize size in bytes
     * @param stream the stream's number in the trace
     */
    void allocation(long id, int slot, long byteSize, int stream);

    /**
     * Receives an allocation by {@code reserve}, which memory that stays for long is requested with. Unless overridden,
     * it is an {@link #allocation}.
     *
     * @param id the block's id in the trace; no live block has it
     * @param slot as of an {@link #allocation}
     * @param byteSize size in bytes
     * @param stream the stream's number in the trace
     */
    default void reserve(long id, int slot, long byteSize, int stream) {
        allocation(id, slot, byteSize, stream);
    }

    /**
     * Receives the free of a live block.
     *
     * @param id the block's id
     * @param slot the block's slot
     * @param byteSize size in bytes, as allocated
     * @param stream the stream that it was allocated on
     */
    void free(long id, int slot, long byteSize, int stream);
}
