package allocator.arena.chunk;

/**
 * Creates a value that describes a chunk.
 *
 * @param <T> the type of the value
 */
@FunctionalInterface
public interface ChunkFactory<T> {
    /**
     * Creates the value for a chunk.
     *
     * @param address address of the first byte
     * @param byteSize size in bytes, padding included
     * @param isFree whether it is free
     * @param requestedBytes bytes that the caller requested; {@code 0} if it is free
     * @param streamId id of the stream that owns it, {@code 0} if no stream does
     * @param stamp the owner's sync id when it was freed; {@code 0} if it is in use or has no owner
     * @param untouchedHeadBytes bytes at the start of a free chunk that its owner never used
     * @param untouchedTailBytes bytes at the end of a free chunk that its owner never used
     * @return the value
     */
    T create(
            long address,
            long byteSize,
            boolean isFree,
            long requestedBytes,
            long streamId,
            long stamp,
            long untouchedHeadBytes,
            long untouchedTailBytes);
}
