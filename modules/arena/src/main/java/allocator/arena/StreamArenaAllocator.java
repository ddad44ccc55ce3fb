package allocator.arena;

import allocator.provider.support.internal.SameDevice;
import allocator.spi.AllocatorOptions;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/** An arena as a stream-aware allocator: memory may be freed while work that uses it is still queued on a stream. */
public class StreamArenaAllocator extends ArenaAllocator implements StreamAwareAllocator {

    /**
     * Creates an allocator over an arena.
     *
     * @param arena the arena, which this allocator closes
     * @param effectiveOptions the effective options, {@linkplain AllocatorOptions#resolve resolved} for every key
     */
    public StreamArenaAllocator(BfcArena arena, AllocatorOptions effectiveOptions) {
        super(arena, effectiveOptions);
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if {@code stream} belongs to another device
     */
    @Override
    public long allocOnStream(long byteSize, SyncStream stream) {
        SameDevice.require(stream, info());
        return arena().allocOnStream(byteSize, stream);
    }

    /**
     * Unbinds the memory that a stream has freed, as {@link BfcArena#endRun} does. The provider's streams call it at
     * run end, once their work is done.
     *
     * @param stream the stream
     */
    public final void endRun(SyncStream stream) {
        arena().endRun(stream);
    }

    /**
     * Unbinds all memory of a stream, as {@link BfcArena#releaseStream} does. The provider's streams call it at close,
     * once their work is done.
     *
     * @param stream the stream
     */
    public final void releaseStream(SyncStream stream) {
        arena().releaseStream(stream);
    }
}
