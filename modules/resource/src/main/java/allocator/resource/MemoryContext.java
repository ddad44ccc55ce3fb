package allocator.resource;

import allocator.spi.SyncStream;

/** Where newly allocated memory may be used without synchronization. */
public sealed interface MemoryContext {
    /** Any thread and any stream. */
    MemoryContext ANY = new Any();

    /** Any thread and any stream: the type of {@link MemoryContext#ANY}. */
    record Any() implements MemoryContext {}

    /**
     * Later work on one stream only.
     *
     * @param stream the stream
     */
    record StreamBound(SyncStream stream) implements MemoryContext {}
}
