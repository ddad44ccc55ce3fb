package allocator.runtime.transfer;

import allocator.runtime.lifetime.Cleanup;
import allocator.runtime.transfer.StagingMemory.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * The two buffers of a copy. They are freed when the copy has let go of them, and so has each stream whose work may
 * still use them after the copy has failed.
 */
final class StagingBuffers implements AutoCloseable {
    private final Runnable release = this::close;

    /** The copy, and the streams that keep the buffers. */
    private int users = 1;

    private @Nullable Buffer even;
    private @Nullable Buffer odd;

    /**
     * Allocates the buffers.
     *
     * @param evenByteSize the size of the first, in bytes, above zero
     * @param oddByteSize the size of the second, in bytes, above zero
     */
    StagingBuffers(StagingMemory memory, long evenByteSize, long oddByteSize) {
        boolean isComplete = false;
        try {
            even = memory.allocate(evenByteSize);
            odd = memory.allocate(oddByteSize);
            isComplete = true;
        } finally {
            if (!isComplete) {
                close();
            }
        }
    }

    /** Returns the buffer that the first piece goes through. */
    Buffer even() {
        return present(even);
    }

    /** Returns the buffer that the second piece goes through. */
    Buffer odd() {
        return present(odd);
    }

    private static Buffer present(@Nullable Buffer buffer) {
        if (buffer == null) {
            throw new IllegalStateException("the buffer is freed");
        }
        return buffer;
    }

    /** Keeps the buffers for a stream, until what this method returns is run. */
    synchronized Runnable keep() {
        users++;
        return release;
    }

    /** Lets go of the buffers. If that throws, a further call frees those that are left. */
    @Override
    public synchronized void close() {
        if (users > 0) {
            users--;
        }
        if (users > 0) {
            return;
        }
        final Cleanup cleanup = new Cleanup();
        cleanup.attempt(this::closeEven);
        cleanup.attempt(this::closeOdd);
        cleanup.throwIfAny();
    }

    private void closeEven() {
        if (even != null) {
            even.close();
            even = null;
        }
    }

    private void closeOdd() {
        if (odd != null) {
            odd.close();
            odd = null;
        }
    }
}
