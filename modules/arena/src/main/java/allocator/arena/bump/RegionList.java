package allocator.arena.bump;

import org.jspecify.annotations.Nullable;

/**
 * A list of regions, which are its links, so that no change needs Java heap. A region is in one list at most.
 *
 * <p>Not safe for use by several threads.
 */
final class RegionList {
    /** How many regions a search for the one with the least room looks at. */
    private static final int LOOKED_AT = 64;

    /** The region that was added last; {@code null} if there is none. */
    @Nullable
    BlockRegion first;

    /** Adds a region, which is in no list, at the front. */
    void add(BlockRegion region) {
        region.list = this;
        region.after = first;
        if (first != null) {
            first.before = region;
        }
        first = region;
    }

    /** Removes a region of this list. */
    void remove(BlockRegion region) {
        if (region.before == null) {
            first = region.after;
        } else {
            region.before.after = region.after;
        }
        if (region.after != null) {
            region.after.before = region.before;
        }
        region.list = null;
        region.before = null;
        region.after = null;
    }

    /**
     * Returns, of the regions that were added last, the one with the least room that fits a request.
     *
     * @param stampBelow it was last freed in before this stamp
     * @param orAny whether any other region that fits is returned if these do not
     */
    @Nullable
    BlockRegion find(long byteSize, long stampBelow, boolean orAny) {
        BlockRegion best = null;
        long bestRoom = Long.MAX_VALUE;
        BlockRegion region = first;
        for (int visited = 0; region != null && (visited < LOOKED_AT || (orAny && best == null)); visited++) {
            final long room = region.room();
            if (room >= byteSize && room < bestRoom && region.freeStamp < stampBelow) {
                best = region;
                bestRoom = room;
            }
            region = region.after;
        }
        return best;
    }
}
