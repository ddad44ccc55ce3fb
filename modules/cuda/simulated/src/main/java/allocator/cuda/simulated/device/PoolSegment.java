package allocator.cuda.simulated.device;

import java.util.Iterator;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Device memory that belongs to a pool. */
final class PoolSegment {
    final MemoryPool pool;
    final long address;
    final long byteSize;
    final Contents contents;
    final TreeMap<Long, Tile> tiles = new TreeMap<>();

    PoolSegment(MemoryPool pool, long address, long byteSize, Contents contents) {
        this.pool = pool;
        this.address = address;
        this.byteSize = byteSize;
        this.contents = contents;
        tiles.put(address, new Tile(this, address, byteSize));
    }

    /** Settles frees that have taken effect, and joins adjacent tiles that belong to no stream. */
    void settle() {
        Tile before = null;
        for (Iterator<Tile> all = tiles.values().iterator(); all.hasNext(); ) {
            final Tile tile = all.next();
            tile.settle();
            if (before != null && before.isSettled() && tile.isSettled()) {
                before.byteSize += tile.byteSize;
                all.remove();
            } else {
                before = tile;
            }
        }
    }

    boolean isUnused() {
        return tiles.size() == 1 && tiles.firstEntry().getValue().isSettled();
    }

    /**
     * Part of a pool's segment, allocated or free. A free tile belongs to the stream that freed it until the free has
     * taken effect and the host has synchronized.
     */
    static final class Tile {
        final PoolSegment segment;
        final long address;
        long byteSize;
        boolean isFree = true;

        @Nullable
        StreamQueue freedOn;

        long freedAt;

        Tile(PoolSegment segment, long address, long byteSize) {
            this.segment = segment;
            this.address = address;
            this.byteSize = byteSize;
        }

        void free(StreamQueue stream, long position) {
            isFree = true;
            freedOn = stream;
            freedAt = position;
        }

        /** The host has synchronized: a tile whose free has taken effect belongs to no stream any more. */
        void settle() {
            if (freedOn != null && freedOn.hasDone(freedAt)) {
                freedOn = null;
            }
        }

        boolean isSettled() {
            return isFree && freedOn == null;
        }
    }
}
