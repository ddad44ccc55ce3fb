package allocator.runtime.transfer;

import allocator.provider.support.internal.Failures;
import allocator.runtime.transfer.StagingMemory.Buffer;

/**
 * The two buffers of a copy. They are freed when the copy has let go of them, and so has each stream whose work may
 * still use them after the copy has failed.
 */
final class StagingBuffers implements AutoCloseable {
    private final Runnable release = this::close;
    private final Buffer even;
    private final Buffer odd;

    /** The copy, and the streams that keep the buffers. */
    private int users = 1;

    /**
     * Allocates the buffers.
     *
     * @param evenByteSize the size of the first, in bytes, above zero
     * @param oddByteSize the size of the second, in bytes, above zero
     */
    StagingBuffers(StagingMemory memory, long evenByteSize, long oddByteSize) {
        even = memory.allocate(evenByteSize);
        try {
            odd = memory.allocate(oddByteSize);
        } catch (Throwable e) {
            try {
                even.close();
            } catch (Throwable again) {
                Failures.suppress(e, again);
            }
            throw e;
        }
    }

    /** Returns the buffer that the first piece goes through. */
    Buffer even() {
        return even;
    }

    /** Returns the buffer that the second piece goes through. */
    Buffer odd() {
        return odd;
    }

    /** Keeps the buffers for a stream, until what this method returns is run. */
    synchronized Runnable keep() {
        users++;
        return release;
    }

    /** Lets go of the buffers; the last call frees them. */
    @Override
    public void close() {
        synchronized (this) {
            users--;
            if (users > 0) {
                return;
            }
        }
        try {
            even.close();
        } finally {
            odd.close();
        }
    }
}
