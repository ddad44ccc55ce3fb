package allocator.arena;

import org.jspecify.annotations.Nullable;

/**
 * The requesters of {@link LaneChoice} that are in another lane than the main one, or contend for the main lane.
 * Changed under its lock. A lookup takes no lock, and may miss a change for a moment.
 *
 * <p>Open addressing with linear probing, at most half full. Requesters are numbered consecutively, so that they hardly
 * ever collide. A removed one leaves a mark; the table is made again when marks and requesters take half of it, and
 * when few are left. So a change takes constant time on average.
 */
final class LaneTable {
    private static final int LEAST_SLOTS = 16;

    /** A requester and its lane. What counts its contentions is guarded by the lock. */
    static final class Entry {
        final long requester;
        final Lane lane;
        int contentions;
        long since;

        /** The round in which the requester was to change lanes when its run ends, and since when. */
        private long leavingRound;

        long leavingSince;

        Entry(long requester, Lane lane) {
            this.requester = requester;
            this.lane = lane;
        }
    }

    private final Lane main;

    /** In the place of one that was removed: no requester has the number 0. */
    private final Entry removed;

    private volatile @Nullable Entry[] entries = new @Nullable Entry[LEAST_SLOTS];
    private int count;

    /** The slots that are not empty. */
    private int taken;

    /** Above zero. Requesters that were to leave in an earlier round stay. */
    private long round = 1;

    LaneTable(Lane main) {
        this.main = main;
        removed = new Entry(0, main);
    }

    /** Returns the lane of a requester. */
    Lane find(long requester) {
        final @Nullable Entry[] table = entries;
        final int mask = table.length - 1;
        for (int slot = (int) requester & mask; ; slot = (slot + 1) & mask) {
            final Entry entry = table[slot];
            if (entry == null) {
                return main;
            }
            if (entry.requester == requester) {
                return entry.lane;
            }
        }
    }

    /** Returns the slot of a requester, or the empty one where it would be. */
    private static int slot(@Nullable Entry[] table, long requester) {
        final int mask = table.length - 1;
        int slot = (int) requester & mask;
        for (Entry there = table[slot]; there != null && there.requester != requester; there = table[slot]) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    /** Returns a requester's entry, made with the main lane if there is none. */
    Entry entry(long requester) {
        final Entry known = entries[slot(entries, requester)];
        if (known != null) {
            return known;
        }
        if (2 * (taken + 1) > entries.length) {
            resize();
        }
        final Entry made = new Entry(requester, main);
        entries[slot(entries, requester)] = made;
        main.requesters++;
        count++;
        taken++;
        return made;
    }

    /** Returns whether a requester is to change lanes when its run ends. */
    boolean isLeaving(long requester) {
        final Entry entry = entries[slot(entries, requester)];
        return entry != null && isLeaving(entry);
    }

    /** Returns whether a requester is to change lanes when its run ends. */
    boolean isLeaving(Entry entry) {
        return entry.leavingRound == round;
    }

    /** Lets a requester change lanes when its run ends. */
    void leave(Entry entry, long now) {
        entry.leavingRound = round;
        entry.leavingSince = now;
    }

    /** Lets all requesters stay in their lanes when their runs end. */
    void stayAll() {
        round++;
    }

    /** Changes the lane of a requester. */
    void move(Entry entry, Lane lane) {
        entries[slot(entries, entry.requester)] = new Entry(entry.requester, lane);
        entry.lane.requesters--;
        lane.requesters++;
    }

    /** Removes a requester, if it is here. */
    void remove(long requester) {
        final int slot = slot(entries, requester);
        final Entry entry = entries[slot];
        if (entry != null) {
            entries[slot] = removed;
            entry.lane.requesters--;
            count--;
            if (entries.length > LEAST_SLOTS && count < entries.length / 16) {
                shrink();
            }
        }
    }

    private void shrink() {
        try {
            resize();
        } catch (OutOfMemoryError e) {
            // The table stays as large as it is.
        }
    }

    /** Makes the table without marks, at most a quarter full with one more. */
    private void resize() {
        final int slots = Math.max(Integer.highestOneBit(count + 1) * 8, LEAST_SLOTS);
        final @Nullable Entry[] table = new @Nullable Entry[slots];
        for (final Entry entry : entries) {
            if (entry != null && entry != removed) {
                table[slot(table, entry.requester)] = entry;
            }
        }
        entries = table;
        taken = count;
    }

    /** Returns the number of slots. */
    int slots() {
        return entries.length;
    }
}
