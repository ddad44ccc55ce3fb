package allocator.cuda.simulated;

import org.jspecify.annotations.Nullable;

/**
 * A part of a pool's segment, allocated or free. A free tile belongs to the stream that freed it until the free has
 * taken effect and the host has seen that.
 */
final class Tile {
    final Pool.Segment segment;
    final long address;
    long byteSize;
    boolean isFree = true;

    @Nullable
    StreamQueue freedOn;

    long freedAt;

    Tile(Pool.Segment segment, long address, long byteSize) {
        this.segment = segment;
        this.address = address;
        this.byteSize = byteSize;
    }

    void free(StreamQueue stream, long position) {
        isFree = true;
        freedOn = stream;
        freedAt = position;
    }

    /** The host has synchronized: a free that has taken effect is nobody's any more. */
    void settle() {
        if (freedOn != null && freedOn.hasDone(freedAt)) {
            freedOn = null;
        }
    }

    boolean isSettled() {
        return isFree && freedOn == null;
    }
}
