package allocator.resource;

import allocator.spi.SyncStream;

/** Where memory may be used without synchronization once it is allocated. */
public sealed interface MemoryContext {
    /** On any thread and any stream. */
    MemoryContext ANY = new Any();

    /** Any thread and any stream; use {@link MemoryContext#ANY}. */
    record Any() implements MemoryContext {}

    /**
     * By later work on one stream only.
     *
     * @param stream the stream
     */
    record StreamBound(SyncStream stream) implements MemoryContext {}
}
