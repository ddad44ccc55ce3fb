package allocator.arena;

import java.util.HashMap;
import java.util.Map;

/**
 * Which asker of {@link LaneChoice} has which lane. Immutable, so that finding takes no lock; changes make a copy.
 *
 * <p>Open addressing with linear probing, at most half full; askers are numbered one by one, so that they hardly ever
 * collide.
 */
final class LaneTable {
    static final LaneTable EMPTY = new LaneTable(Map.of());

    private final Map<Long, Lane> byAsker;
    private final long[] askers;
    private final Lane[] lanes;

    private LaneTable(Map<Long, Lane> byAsker) {
        this.byAsker = byAsker;
        final int capacity = Integer.highestOneBit(2 * byAsker.size() + 1) * 2;
        askers = new long[capacity];
        lanes = new Lane[capacity];
        byAsker.forEach((asker, lane) -> {
            int slot = asker.intValue() & (capacity - 1);
            while (askers[slot] != 0) {
                slot = (slot + 1) & (capacity - 1);
            }
            askers[slot] = asker;
            lanes[slot] = lane;
        });
    }

    /** The lane of an asker, {@code otherwise} if there is none. */
    Lane find(long asker, Lane otherwise) {
        final int mask = askers.length - 1;
        for (int slot = (int) asker & mask; askers[slot] != 0; slot = (slot + 1) & mask) {
            if (askers[slot] == asker) {
                return lanes[slot];
            }
        }
        return otherwise;
    }

    LaneTable with(long asker, Lane lane) {
        final Map<Long, Lane> more = new HashMap<>(byAsker);
        more.put(asker, lane);
        return new LaneTable(more);
    }

    LaneTable without(long asker) {
        if (!byAsker.containsKey(asker)) {
            return this;
        }
        final Map<Long, Lane> fewer = new HashMap<>(byAsker);
        fewer.remove(asker);
        return fewer.isEmpty() ? EMPTY : new LaneTable(fewer);
    }

    boolean uses(Lane lane) {
        return byAsker.containsValue(lane);
    }
}
