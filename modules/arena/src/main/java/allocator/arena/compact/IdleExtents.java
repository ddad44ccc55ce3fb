package allocator.arena.compact;

import allocator.spi.SyncStream;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/** Finds idle extents that may be moved or released, and mappings that are of no use. Guarded by the arena's lock. */
public final class IdleExtents {
    private static final int NONE = Extents.NONE;

    /** How many extents a search for mappings of no use visits. */
    private static final int MOST_VISITED = 64;

    private final Extents extents;
    private final Mappings mappings;

    /** Where the next search for mappings of no use begins. */
    private int hand;

    IdleExtents(Extents extents, Mappings mappings) {
        this.extents = extents;
        this.mappings = mappings;
    }

    /**
     * Returns whether a requester may use an idle extent through another mapping than its current one. Of the streams
     * that are to be waited for then, an extent remembers one: where there are two, it stays until one of them is done.
     */
    boolean mayMove(int extent, @Nullable SyncStream requester) {
        if (!extents.earlier.isBefore(extent, requester)) {
            return false;
        }
        if (!extents.hasCurrent(extent)) {
            return true;
        }
        final int current = extents.current(extent);
        return mappings.frees.isBefore(current, requester)
                && extents.earlier.isOneStreamWith(extent, mappings.frees, current);
    }

    /**
     * {@return an idle extent that a requester may use at any place: the largest one up to a size, or else the smallest
     * one up to a greater size; the one with the fewest mappings if there are several; {@link #NONE} if there is none}
     *
     * @param wanted the size in pages that is wanted
     * @param most the greatest possible size
     */
    public int find(int wanted, int most, @Nullable SyncStream requester) {
        return find(wanted, most, 1, extent -> mayMove(extent, requester));
    }

    /** Does the same; the first one of the wanted size that has few mappings ends the search. */
    private int find(int wanted, long most, int few, IntPredicate mayUse) {
        int best = NONE;
        for (int extent = extents.nextIdle(0); extent != NONE; extent = extents.nextIdle(extent + 1)) {
            if (extents.size(extent) <= most
                    && (best == NONE || isBetter(extent, best, wanted))
                    && mayUse.test(extent)) {
                best = extent;
                if (extents.size(extent) == wanted && extents.mappingCount(extent) <= few) {
                    return best;
                }
            }
        }
        return best;
    }

    private boolean isBetter(int extent, int best, int wanted) {
        final int size = extents.size(extent);
        final int bestSize = extents.size(best);
        if (size == bestSize) {
            return extents.mappingCount(extent) < extents.mappingCount(best);
        }
        return size <= wanted ? bestSize > wanted || size > bestSize : bestSize > wanted && size < bestSize;
    }

    /** Returns the smallest idle extent that no stream may still use, {@link #NONE} if there is none. */
    public int smallestReleasable() {
        int best = NONE;
        for (int extent = extents.nextIdle(0); extent != NONE; extent = extents.nextIdle(extent + 1)) {
            if ((best == NONE || extents.size(extent) < extents.size(best)) && isReleasable(extent)) {
                best = extent;
            }
        }
        return best;
    }

    /**
     * {@return an idle extent that no stream may still use: the largest one up to a size, or else the smallest one up
     * to a greater size; {@link #NONE} if there is none}
     *
     * @param wanted the size in pages that is wanted
     * @param most the greatest possible size
     */
    public int releasable(int wanted, long most) {
        return find(wanted, most, NONE, this::isReleasable);
    }

    private boolean isReleasable(int extent) {
        return extents.earlier.isNone(extent)
                && (!extents.hasCurrent(extent) || mappings.frees.isNone(extents.current(extent)));
    }

    /** Takes the idle extents in hand that no stream may still use. */
    public void takeReleasable() {
        for (int extent = extents.nextIdle(0); extent != NONE; extent = extents.nextIdle(extent + 1)) {
            if (isReleasable(extent)) {
                extents.take(extent);
            }
        }
    }

    /**
     * Returns a mapping through which nothing is in use and no stream may use anything, of an extent that has others.
     * Visits a few extents, the next ones at each call; returns {@link #NONE} if it finds none.
     */
    int uselessMapping() {
        for (int left = Math.min(MOST_VISITED, extents.capacity()); left > 0; left--) {
            final int extent = hand < extents.capacity() ? hand : 0;
            hand = extent + 1;
            if (extents.mappingCount(extent) > 1) {
                for (int mapping = extents.mappings(extent); mapping != NONE; mapping = mappings.next(mapping)) {
                    if (isUseless(mapping)) {
                        return mapping;
                    }
                }
            }
        }
        return NONE;
    }

    /** Returns whether nothing is in use, and no stream may use anything, through a mapping that is not current. */
    boolean isUseless(int mapping) {
        return mappings.isEnding(mapping)
                || (!extents.isCurrent(mappings.extent(mapping), mapping) && mappings.frees.isNone(mapping));
    }
}
