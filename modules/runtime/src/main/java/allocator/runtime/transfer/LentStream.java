package allocator.runtime.transfer;

import allocator.spi.SyncStream;

/** A stream that a copy uses alone, and gives back. */
public interface LentStream {
    /**
     * Returns the stream.
     *
     * @return an open stream
     */
    SyncStream stream();

    /** Gives the stream back, whose work is done. */
    void giveBack();

    /**
     * Closes the stream, whose work may not be done.
     *
     * @param afterEnd run once the work is done, be it after this call: by a later close that succeeds
     */
    void discard(Runnable afterEnd);
}
