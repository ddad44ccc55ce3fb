package allocator.runtime.transfer;

import allocator.spi.SyncStream;

/** A stream that a copy uses alone, and gives back. */
public interface LentStream {
    /** Takes the open stream. Called once, when nothing else can fail before {@link #giveBack} or {@link #discard}. */
    SyncStream take();

    /** Gives the stream back, whose work is done. */
    void giveBack();

    /**
     * Closes the stream, whose work may not be done.
     *
     * @param afterEnd run once the work is done, be it after this call: by a later close that succeeds
     */
    void discard(Runnable afterEnd);
}
