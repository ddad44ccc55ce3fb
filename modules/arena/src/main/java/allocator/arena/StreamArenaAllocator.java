package allocator.arena;

import allocator.spi.AllocatorOptions;
import allocator.spi.MemoryInfo;
import allocator.spi.MemoryLocation;
import allocator.spi.StreamAwareAllocator;
import allocator.spi.SyncStream;

/** An arena whose memory may be freed while work that uses it is still queued on a stream. */
public class StreamArenaAllocator extends ArenaAllocator implements StreamAwareAllocator {

    /**
     * Makes the allocator.
     *
     * @param arena the arena, which this allocator closes
     * @param effectiveOptions the settings in force, {@linkplain AllocatorOptions#resolve resolved} for every key
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
        requireSameDevice(stream, info());
        return arena().allocOnStream(byteSize, stream);
    }

    static void requireSameDevice(SyncStream stream, MemoryInfo info) {
        if (!isSameDevice(stream.memory().location(), info.location())) {
            throw new IllegalArgumentException(stream + " cannot order memory of " + info);
        }
    }

    private static boolean isSameDevice(MemoryLocation a, MemoryLocation b) {
        return a.deviceType() == b.deviceType()
                && a.vendorId() == b.vendorId()
                && a.deviceOrdinal() == b.deviceOrdinal();
    }

    /**
     * Lets any stream use what a stream has freed, as {@link BfcArena#endRun} does: for the provider's streams to call
     * at run end, once their work is done.
     *
     * @param stream the stream
     */
    public final void endRun(SyncStream stream) {
        arena().endRun(stream);
    }

    /**
     * Ends the tie between a stream and its memory, as {@link BfcArena#releaseStream} does: for the provider's streams
     * to call at close, once their work is done.
     *
     * @param stream the stream
     */
    public final void releaseStream(SyncStream stream) {
        arena().releaseStream(stream);
    }
}
