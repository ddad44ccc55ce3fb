package allocator.trace;

/** Receives the events of a trace in their order. */
public interface TraceSink {
    /**
     * A block is allocated.
     *
     * @param id the block's id in the trace; no live block has it
     * @param slot a small number for the block as long as it lives: below the largest count of blocks that have lived
     *     at once so far, and given to another block after the free
     * @param byteSize size in bytes
     * @param stream the stream's number in the trace
     */
    void allocation(long id, int slot, long byteSize, int stream);

    /**
     * A live block is freed.
     *
     * @param id the block's id
     * @param slot the block's slot
     * @param byteSize size in bytes, as allocated
     * @param stream the stream that it was allocated on
     */
    void free(long id, int slot, long byteSize, int stream);
}
