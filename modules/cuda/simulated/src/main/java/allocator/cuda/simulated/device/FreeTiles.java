package allocator.cuda.simulated.device;

import allocator.cuda.simulated.device.PoolSegment.Tile;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * The free tiles of a pool, by address: those of a stream that freed them, <em>done</em> where the free has taken
 * effect, and <em>settled</em> ones, which belong to no stream. Neighbours that are alike are joined when they meet. A
 * search looks at all of them.
 */
final class FreeTiles {
    private final TreeMap<Long, Tile> tiles = new TreeMap<>();

    /** Adds a free tile of a segment, and joins it with its neighbours. */
    void add(Tile added) {
        Tile tile = added;
        final PoolSegment segment = tile.segment;
        final Tile before = segment.before(tile);
        if (before != null && before.isLike(tile)) {
            tile = joined(before, tile);
        }
        final Tile after = segment.after(tile);
        if (after != null && after.isLike(tile)) {
            remove(after);
            tile = joined(tile, after);
        }
        tiles.put(tile.address, tile);
    }

    private static Tile joined(Tile first, Tile second) {
        first.segment.tiles.remove(second.address);
        first.byteSize += second.byteSize;
        first.freedAt = Math.max(first.freedAt, second.freedAt);
        return first;
    }

    /** Removes a free tile, which is in its segment still. */
    void remove(Tile tile) {
        tiles.remove(tile.address);
    }

    /** Notices which frees have taken effect. */
    void notice() {
        for (Tile tile : matching(each -> each.freedOn != null && !each.isDone && each.freedOn.hasDone(each.freedAt))) {
            remove(tile);
            tile.isDone = true;
            add(tile);
        }
    }

    /** The host has synchronized: tiles whose frees have taken effect belong to no stream any more. */
    void settle() {
        notice();
        for (Tile tile : matching(each -> each.isDone)) {
            remove(tile);
            tile.freedOn = null;
            tile.isDone = false;
            add(tile);
        }
    }

    /** Returns the tiles that are a whole segment and belong to no stream. */
    List<Tile> unused() {
        return matching(tile -> tile.freedOn == null && tile.byteSize == tile.segment.byteSize);
    }

    private List<Tile> matching(Predicate<Tile> condition) {
        return tiles.values().stream().filter(condition).toList();
    }

    /**
     * Returns the leading tiles of a run of adjacent usable tiles that has a size: of the run of the smallest tile that
     * is large enough, or if there is none, of the smallest run of several that are not alike. A run is used from its
     * beginning, so that nothing is left before an allocation that another one would not fit into.
     *
     * @param isUsable whether a tile may be used
     * @return the tiles, empty if there is no such run
     */
    List<Tile> best(long byteSize, Predicate<Tile> isUsable) {
        Tile best = null;
        for (Tile tile : tiles.values()) {
            if (tile.byteSize >= byteSize && (best == null || tile.byteSize < best.byteSize) && isUsable.test(tile)) {
                best = tile;
            }
        }
        if (best != null) {
            return leading(run(first(best, isUsable), isUsable), byteSize);
        }
        List<Tile> bestRun = List.of();
        Tile last = null;
        for (Tile first : tiles.values()) {
            if (last == null || first.address >= last.end()) {
                final List<Tile> run = run(first, isUsable);
                last = run.isEmpty() ? first : run.getLast();
                if (size(run) >= byteSize && (bestRun.isEmpty() || size(run) < size(bestRun))) {
                    bestRun = run;
                }
            }
        }
        return leading(bestRun, byteSize);
    }

    /** Returns the first tile of the run that a tile is in. */
    private static Tile first(Tile tile, Predicate<Tile> isUsable) {
        Tile first = tile;
        Tile before = tile.segment.before(tile);
        while (before != null && before.isFree && isUsable.test(before)) {
            first = before;
            before = first.segment.before(first);
        }
        return first;
    }

    /** Returns a tile and those behind it, up to one that may not be used. */
    private static List<Tile> run(Tile first, Predicate<Tile> isUsable) {
        final List<Tile> run = new ArrayList<>();
        Tile tile = first;
        while (tile != null && tile.isFree && isUsable.test(tile)) {
            run.add(tile);
            tile = tile.segment.after(tile);
        }
        return run;
    }

    private static long size(List<Tile> run) {
        return run.stream().mapToLong(tile -> tile.byteSize).sum();
    }

    /** Returns the first tiles of a run that are together of a size, or all if they are smaller. */
    private static List<Tile> leading(List<Tile> run, long byteSize) {
        int count = 0;
        for (long taken = 0; taken < byteSize && count < run.size(); count++) {
            taken += run.get(count).byteSize;
        }
        return run.subList(0, count);
    }
}
