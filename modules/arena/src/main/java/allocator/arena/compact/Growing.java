package allocator.arena.compact;

import java.util.BitSet;

/**
 * The chunk that is being backed, and which of its places are: those are <em>claimed</em>, so that the extents there
 * count as used while the chunk itself does not count yet. Guarded by the arena's lock.
 */
public final class Growing {
    /** No place. */
    static final int NONE = -1;

    private long address;

    /** The chunk's first place; {@link #NONE} where no chunk is being backed. */
    private int first = NONE;

    private int last;

    /** Counted from the first place. */
    private BitSet claimed = new BitSet();

    /**
     * Begins with no place claimed.
     *
     * @param claimed empty, with room for all places
     */
    void begin(long address, int first, int last, BitSet claimed) {
        this.address = address;
        this.last = last;
        this.claimed = claimed;
        this.first = first;
    }

    /** Notes that no chunk is being backed any more. */
    public void end() {
        first = NONE;
    }

    /** Returns whether a chunk is being backed. */
    public boolean isActive() {
        return first != NONE;
    }

    /** Returns the address of the chunk that is being backed. */
    public long address() {
        return address;
    }

    /** Returns whether it is the chunk at an address. */
    boolean isAt(long chunk) {
        return first != NONE && address == chunk;
    }

    /** Claims the chunk's places among those from one to another. */
    void claim(int from, int end) {
        claimed.set(Math.max(from, first) - first, Math.min(end, last + 1) - first);
    }

    /** Returns the chunk's first claimed place from one on, {@link #NONE} if there is none. */
    int nextClaimed(int from) {
        final int index = first == NONE ? NONE : claimed.nextSetBit(Math.max(from, first) - first);
        return index == NONE ? NONE : first + index;
    }

    /** Returns the chunk's first place that is not claimed, {@link #NONE} if there is none. */
    public int nextUnclaimed() {
        final int place = first + claimed.nextClearBit(0);
        return place > last ? NONE : place;
    }

    /** Returns how many of the chunk's places from one on are not claimed, up to the next one that is. */
    public int unclaimedFrom(int place) {
        final int next = nextClaimed(place);
        return (next == NONE ? last + 1 : next) - place;
    }

    /** Returns whether a place is the chunk's last one. */
    public boolean isLast(int place) {
        return place == last;
    }
}
