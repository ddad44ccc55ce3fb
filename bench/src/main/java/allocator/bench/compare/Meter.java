package allocator.bench.compare;

import java.io.IOException;
import java.util.List;

/** One side of a comparison: starts JVMs that measure cells. */
interface Meter {
    /**
     * Starts a JVM that measures a cell; returns at once.
     *
     * @param jvmOptions options of the JVM besides its own
     * @param lane the lane that measures, from 0
     * @throws SideFailedException if it cannot be started
     */
    Sampler open(Cell cell, List<String> jvmOptions, int lane) throws SideFailedException, IOException;

    /** A JVM with an allocator that is warmed up once and then measured window by window. Closing it ends the JVM. */
    interface Sampler extends AutoCloseable {
        /** Waits until the subject is warmed up. */
        void awaitReady() throws SideFailedException, IOException, InterruptedException;

        /** Plays one window and returns nanoseconds for a free and an allocation. */
        double nextNanos() throws SideFailedException, IOException, InterruptedException;

        @Override
        void close() throws IOException;
    }
}
