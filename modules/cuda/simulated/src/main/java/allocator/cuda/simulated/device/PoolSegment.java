package allocator.cuda.simulated.device;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Device memory that belongs to a pool, divided into tiles without gaps. */
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
    }

    @Nullable
    Tile before(Tile tile) {
        final Map.Entry<Long, Tile> before = tiles.lowerEntry(tile.address);
        return before == null ? null : before.getValue();
    }

    @Nullable
    Tile after(Tile tile) {
        return tiles.get(tile.end());
    }

    /**
     * Part of a pool's segment, allocated or free. A free tile belongs to the stream that freed it until the free has
     * taken effect and the host has synchronized. Two neighbours that are free and {@linkplain #isLike alike} are one.
     */
    static final class Tile {
        final PoolSegment segment;
        final long address;
        long byteSize;
        boolean isFree;

        @Nullable
        StreamQueue freedOn;

        long freedAt;

        /** The free was found to have taken effect. */
        boolean isDone;

        Tile(PoolSegment segment, long address, long byteSize) {
            this.segment = segment;
            this.address = address;
            this.byteSize = byteSize;
        }

        /** Returns the rest of this free tile from an address. */
        Tile rest(long from) {
            final Tile rest = new Tile(segment, from, end() - from);
            rest.isFree = true;
            rest.freedOn = freedOn;
            rest.freedAt = freedAt;
            rest.isDone = isDone;
            return rest;
        }

        long end() {
            return address + byteSize;
        }

        boolean isLike(Tile other) {
            return other.isFree == isFree && other.freedOn == freedOn && other.isDone == isDone;
        }
    }
}
