package allocator.runtime.transfer;

import allocator.runtime.lifetime.Cleanup;
import org.jspecify.annotations.Nullable;

/** Buffers whose free had no effect, to be freed again. Adding takes nothing from the Java heap. */
final class OwedBuffers {
    /** Linked. Guarded by this object. */
    private @Nullable StagingBuffers first;

    synchronized void add(StagingBuffers buffers) {
        if (!buffers.isOwed) {
            buffers.isOwed = true;
            buffers.nextOwed = first;
            first = buffers;
        }
    }

    private synchronized @Nullable StagingBuffers poll() {
        final StagingBuffers top = first;
        if (top != null) {
            first = top.nextOwed;
            top.nextOwed = null;
            top.isOwed = false;
        }
        return top;
    }

    private synchronized int count() {
        int count = 0;
        for (StagingBuffers buffers = first; buffers != null; buffers = buffers.nextOwed) {
            count++;
        }
        return count;
    }

    /** Frees them again. What fails once more stays. Takes nothing from the Java heap. */
    void freeAgain(Cleanup cleanup) {
        for (int left = count(); left > 0; left--) {
            final StagingBuffers buffers = poll();
            try {
                if (buffers != null) {
                    buffers.close();
                }
            } catch (Throwable e) {
                cleanup.add(e);
            }
        }
    }
}
