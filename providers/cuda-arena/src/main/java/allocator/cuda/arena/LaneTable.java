package allocator.cuda.arena;

import java.util.HashMap;
import java.util.Map;

/**
 * Which stream has which lane, by the stream's id. Immutable, so that finding takes no lock; changes make a copy.
 *
 * <p>Open addressing with linear probing, at most half full; ids rise one by one, so that they hardly ever collide.
 */
final class LaneTable {
    static final LaneTable EMPTY = new LaneTable(Map.of());

    private final Map<Long, Lane> byId;
    private final long[] ids;
    private final Lane[] lanes;

    private LaneTable(Map<Long, Lane> byId) {
        this.byId = byId;
        final int capacity = Integer.highestOneBit(2 * byId.size() + 1) * 2;
        ids = new long[capacity];
        lanes = new Lane[capacity];
        byId.forEach((id, lane) -> {
            int slot = id.intValue() & (capacity - 1);
            while (ids[slot] != 0) {
                slot = (slot + 1) & (capacity - 1);
            }
            ids[slot] = id;
            lanes[slot] = lane;
        });
    }

    /** The lane of a stream, {@code otherwise} if it has none. */
    Lane find(long id, Lane otherwise) {
        final int mask = ids.length - 1;
        for (int slot = (int) id & mask; ids[slot] != 0; slot = (slot + 1) & mask) {
            if (ids[slot] == id) {
                return lanes[slot];
            }
        }
        return otherwise;
    }

    LaneTable with(long id, Lane lane) {
        final Map<Long, Lane> more = new HashMap<>(byId);
        more.put(id, lane);
        return new LaneTable(more);
    }

    LaneTable without(long id) {
        final Map<Long, Lane> fewer = new HashMap<>(byId);
        fewer.remove(id);
        return fewer.isEmpty() ? EMPTY : new LaneTable(fewer);
    }

    boolean uses(Lane lane) {
        return byId.containsValue(lane);
    }
}
