package allocator.arena.upstream;

import allocator.spi.DeviceException;
import allocator.spi.SyncStream;
import java.lang.System.Logger.Level;

/** Waits for the work of streams before memory that it may use is returned. */
public final class StreamWork {
    private StreamWork() {}

    /**
     * Waits for a stream's work. Blocks; the caller holds no lock that an allocation takes, since the work may wait for
     * a thread that allocates.
     *
     * @return whether the work is known to be done: not that of a stream that was closed while its device could not
     *     confirm it
     * @throws DeviceException if the driver fails or the work did
     */
    public static boolean await(SyncStream stream) {
        try {
            stream.flush();
            return true;
        } catch (IllegalStateException e) {
            System.getLogger("allocator.arena.BfcArena").log(Level.DEBUG, "{0} is closed", stream);
            return stream.hasEnded();
        }
    }
}
