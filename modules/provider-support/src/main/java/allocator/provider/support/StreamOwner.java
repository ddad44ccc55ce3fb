package allocator.provider.support;

import allocator.spi.Allocator;
import allocator.spi.SyncStream;

/**
 * What a stream reports to the factory that created it, at the three points that matter to memory.
 *
 * @param <S> type of the streams
 */
public interface StreamOwner<S extends SyncStream> {
    /**
     * {@return whether an allocator that has allocated on a stream is open still; otherwise the stream forgets it} It
     * may be another factory's, if streams of one device serve both.
     *
     * @param allocator the allocator
     */
    boolean isOpen(Allocator allocator);

    /**
     * A run has ended, and all work submitted so far is done: memory freed on the stream so far may serve any stream
     * (T-04).
     *
     * @param stream the stream, synchronized
     */
    void runEnded(S stream);

    /**
     * All work is done and no more will come: memory used on the stream is no longer bound to it, whether freed already
     * or not (T-05). Not called where the device cannot confirm that the work is done; a later close that can calls it,
     * also after {@link #closed}.
     *
     * @param stream the stream
     */
    void workEnded(S stream);

    /**
     * The stream is closed: it takes no more calls. Called once, at the end of the first close.
     *
     * @param stream the stream
     */
    void closed(S stream);
}
