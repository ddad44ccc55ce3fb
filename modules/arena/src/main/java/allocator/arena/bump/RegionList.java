package allocator.arena.bump;

import org.jspecify.annotations.Nullable;

/**
 * A list of regions, which are its links, so that no change needs Java heap. A region is in one list at most.
 *
 * <p>Not safe for use by several threads.
 */
final class RegionList {
    private @Nullable BlockRegion first;

    /** Returns the first region, {@code null} if there is none. */
    @Nullable
    BlockRegion first() {
        return first;
    }

    /** Adds a region at the front. */
    void addFirst(BlockRegion region) {
        insert(region, null);
    }

    /** Adds a region behind the smaller ones, in a list in which all were added so. */
    void addBySize(BlockRegion region) {
        BlockRegion smaller = null;
        BlockRegion next = first;
        while (next != null && next.byteSize < region.byteSize) {
            smaller = next;
            next = next.after;
        }
        insert(region, smaller);
    }

    private void insert(BlockRegion region, @Nullable BlockRegion before) {
        final BlockRegion after = before == null ? first : before.after;
        region.list = this;
        region.before = before;
        region.after = after;
        if (before == null) {
            first = region;
        } else {
            before.after = region;
        }
        if (after != null) {
            after.before = region;
        }
    }

    /** Removes a region of this list. */
    void remove(BlockRegion region) {
        final BlockRegion before = region.before;
        final BlockRegion after = region.after;
        if (before == null) {
            first = after;
        } else {
            before.after = after;
        }
        if (after != null) {
            after.before = before;
        }
        region.list = null;
        region.before = null;
        region.after = null;
    }

    /** Returns the region with the least room that fits a request, among the first ones of this list. */
    @Nullable
    BlockRegion leastRoom(long byteSize, long byteAlignment, int most) {
        BlockRegion best = null;
        long bestRoom = Long.MAX_VALUE;
        BlockRegion region = first;
        for (int visited = 0; region != null && visited < most; visited++) {
            final long room = region.room(byteAlignment);
            if (room >= byteSize && room < bestRoom) {
                best = region;
                bestRoom = room;
            }
            region = region.after;
        }
        return best;
    }
}
