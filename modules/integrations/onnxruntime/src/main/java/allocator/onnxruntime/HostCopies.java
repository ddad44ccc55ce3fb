package allocator.onnxruntime;

import allocator.spi.Allocator;
import allocator.spi.SpiLevel;
import java.util.HashMap;
import java.util.Map;

/**
 * Copies of a GPU's weights in its pinned memory, for sessions that sleep: one for all weights that have one copy on
 * the GPU. Safe for use by any thread.
 */
final class HostCopies {
    /** Those of shared weights, by the number of the copy on the GPU. Guarded by this. */
    private final Map<Long, Copy> shared = new HashMap<>();

    /** A copy, which its users give back. */
    static final class Copy {
        final long byteSize;
        final long address;
        private final Allocator pinned;
        final long id;

        /** Whether it has the bytes of weights that never change. */
        volatile boolean isComplete;

        private int users;

        Copy(Allocator pinned, long id, long byteSize) {
            this.pinned = pinned;
            this.id = id;
            this.byteSize = byteSize;
            address = pinned.spiLevel() >= SpiLevel.RESERVE ? pinned.reserve(byteSize) : pinned.alloc(byteSize);
        }
    }

    /** Takes the copy of those with a number on the GPU; another one for each session if that is 0. */
    synchronized Copy take(Allocator pinned, long id, long byteSize) {
        final Copy found = shared.get(id);
        final Copy copy = found == null ? new Copy(pinned, id, byteSize) : found;
        if (id != 0) {
            shared.put(id, copy);
        }
        copy.users++;
        return copy;
    }

    /** Gives a copy back, whose memory the last user frees. */
    synchronized void giveBack(Copy copy) {
        copy.users--;
        if (copy.users == 0) {
            shared.remove(copy.id);
            copy.pinned.free(copy.address);
        }
    }
}
