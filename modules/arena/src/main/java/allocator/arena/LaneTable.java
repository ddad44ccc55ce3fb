package allocator.arena;

import java.util.HashMap;
import java.util.Map;

/**
 * The lane of each requester of {@link LaneChoice}. Immutable, so that a lookup takes no lock; a change makes a copy.
 *
 * <p>Open addressing with linear probing, at most half full. Requesters are numbered consecutively, so that they hardly
 * ever collide.
 */
final class LaneTable {
    static final LaneTable EMPTY = new LaneTable(Map.of());

    private final Map<Long, Lane> byRequester;
    private final long[] requesters;
    private final Lane[] lanes;

    private LaneTable(Map<Long, Lane> byRequester) {
        this.byRequester = byRequester;
        final int capacity = Integer.highestOneBit(2 * byRequester.size() + 1) * 2;
        requesters = new long[capacity];
        lanes = new Lane[capacity];
        byRequester.forEach((requester, lane) -> {
            int slot = requester.intValue() & (capacity - 1);
            while (requesters[slot] != 0) {
                slot = (slot + 1) & (capacity - 1);
            }
            requesters[slot] = requester;
            lanes[slot] = lane;
        });
    }

    /** Returns the lane of a requester, {@code otherwise} if there is none. */
    Lane find(long requester, Lane otherwise) {
        final int mask = requesters.length - 1;
        for (int slot = (int) requester & mask; requesters[slot] != 0; slot = (slot + 1) & mask) {
            if (requesters[slot] == requester) {
                return lanes[slot];
            }
        }
        return otherwise;
    }

    LaneTable with(long requester, Lane lane) {
        final Map<Long, Lane> more = new HashMap<>(byRequester);
        more.put(requester, lane);
        return new LaneTable(more);
    }

    LaneTable without(long requester) {
        if (!byRequester.containsKey(requester)) {
            return this;
        }
        final Map<Long, Lane> fewer = new HashMap<>(byRequester);
        fewer.remove(requester);
        return fewer.isEmpty() ? EMPTY : new LaneTable(fewer);
    }

    boolean uses(Lane lane) {
        return byRequester.containsValue(lane);
    }
}
