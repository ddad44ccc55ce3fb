package allocator.runtime.transfer;

import allocator.runtime.lifetime.Cleanup;
import allocator.runtime.transfer.StagingMemory.Buffer;
import allocator.spi.DeviceException;
import org.jspecify.annotations.Nullable;

/**
 * The two buffers of a copy. They are freed when the copy has let go of them, and so has each stream whose work may
 * still use them after the copy has failed.
 */
final class StagingBuffers implements AutoCloseable {
    private final Runnable release = this::close;
    private final OwedBuffers owed;

    /** The copy, and the streams that keep the buffers. */
    private int users = 1;

    private @Nullable Buffer even;
    private @Nullable Buffer odd;

    /** The next ones of {@link OwedBuffers}, which guards it and whether these are there. */
    @Nullable
    StagingBuffers nextOwed;

    boolean isOwed;

    /**
     * Allocates the buffers.
     *
     * @param evenByteSize the size of the first, in bytes, above zero
     * @param oddByteSize the size of the second, in bytes, above zero
     * @param owed where they are entered if a free has no effect
     */
    StagingBuffers(StagingMemory memory, long evenByteSize, long oddByteSize, OwedBuffers owed) {
        this.owed = owed;
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

    /** Lets go of the buffers. If that throws, they are owed, and a further call frees those that are left. */
    @Override
    public synchronized void close() {
        if (users > 0) {
            users--;
        }
        if (users > 0) {
            return;
        }
        boolean isFreed = false;
        try {
            final Cleanup cleanup = new Cleanup();
            even = free(even, cleanup);
            odd = free(odd, cleanup);
            isFreed = even == null && odd == null;
            cleanup.throwIfAny();
        } finally {
            if (!isFreed) {
                owed.add(this);
            }
        }
    }

    /** Frees a buffer; returns it if it is live still. */
    private static @Nullable Buffer free(@Nullable Buffer buffer, Cleanup cleanup) {
        if (buffer != null) {
            try {
                buffer.close();
            } catch (DeviceException e) {
                return null; // It is dead, and its memory the allocator's to return: the copy is not concerned.
            } catch (Throwable e) {
                cleanup.add(e);
                return buffer;
            }
        }
        return null;
    }
}
