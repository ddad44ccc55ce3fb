package allocator.cuda.simulated.device;

import allocator.cuda.simulated.device.PoolSegment.Tile;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The free tiles of a pool: <em>settled</em> ones, which belong to no stream, and for each stream those that it freed,
 * <em>done</em> where the free has taken effect, and <em>pending</em> ones. Neighbours that are alike are joined when
 * they meet, so that a search looks at sizes, not at tiles.
 *
 * <p>Cost: logarithmic in the number of tiles, for each stream that owns some. A tile is settled once for each free.
 * Two searches may look at many tiles: of pending ones where a stream has waited for some of another stream's frees and
 * not for the last; and of neighbours that are not alike, which serve a request together only if no tile alone is large
 * enough.
 */
final class FreeTiles {
    private final TreeSet<Tile> settled = new TreeSet<>(Tile.BY_SIZE);
    private final Map<StreamQueue, Owned> owned = new LinkedHashMap<>();

    /** Tiles by address whose next neighbour is free as well, and not alike. */
    private final TreeMap<Long, Tile> seams = new TreeMap<>();

    /** The settled tiles that are a whole segment. */
    private final Set<Tile> unused = new LinkedHashSet<>();

    private long steps;

    /** Free tiles of one stream. */
    private static final class Owned {
        final StreamQueue stream;
        final Sorted done = new Sorted();
        final Sorted pending = new Sorted();

        Owned(StreamQueue stream) {
            this.stream = stream;
        }

        Sorted of(Tile tile) {
            return tile.isDone ? done : pending;
        }

        boolean isEmpty() {
            return done.bySize.isEmpty() && pending.bySize.isEmpty();
        }
    }

    /** Tiles that one stream freed. A stream that may use one of them may use all that were freed before it. */
    private static final class Sorted {
        final TreeSet<Tile> bySize = new TreeSet<>(Tile.BY_SIZE);
        final TreeSet<Tile> byFree = new TreeSet<>(Tile.BY_FREE);

        void add(Tile tile) {
            bySize.add(tile);
            byFree.add(tile);
        }

        void remove(Tile tile) {
            bySize.remove(tile);
            byFree.remove(tile);
        }
    }

    /** Returns how many tiles and streams all calls so far have looked at. */
    long steps() {
        return steps;
    }

    /** Adds a free tile of a segment, and joins it with its neighbours. */
    void add(Tile added) {
        Tile tile = added;
        final PoolSegment segment = tile.segment;
        final Tile before = segment.before(tile);
        if (before != null && before.isLike(tile)) {
            remove(before);
            tile = joined(before, tile);
        }
        final Tile after = segment.after(tile);
        if (after != null && after.isLike(tile)) {
            remove(after);
            tile = joined(tile, after);
        }
        enter(tile);
    }

    private static Tile joined(Tile first, Tile second) {
        first.segment.tiles.remove(second.address);
        first.byteSize += second.byteSize;
        first.freedAt = Math.max(first.freedAt, second.freedAt);
        return first;
    }

    private void enter(Tile tile) {
        steps++;
        final StreamQueue owner = tile.freedOn;
        if (owner == null) {
            settled.add(tile);
            if (tile.byteSize == tile.segment.byteSize) {
                unused.add(tile);
            }
        } else {
            owned.computeIfAbsent(owner, Owned::new).of(tile).add(tile);
        }
        final Tile before = tile.segment.before(tile);
        if (before != null && before.isFree) {
            seams.put(before.address, before);
        }
        final Tile after = tile.segment.after(tile);
        if (after != null && after.isFree) {
            seams.put(tile.address, tile);
        }
    }

    /** Removes a free tile, which is in its segment still. */
    void remove(Tile tile) {
        steps++;
        final StreamQueue owner = tile.freedOn;
        if (owner == null) {
            settled.remove(tile);
            unused.remove(tile);
        } else {
            final Owned tiles = Objects.requireNonNull(owned.get(owner));
            tiles.of(tile).remove(tile);
            if (tiles.isEmpty()) {
                owned.remove(owner);
            }
        }
        seams.remove(tile.address);
        final Tile before = tile.segment.before(tile);
        if (before != null) {
            seams.remove(before.address);
        }
    }

    /** Notices which frees have taken effect. */
    void notice() {
        for (Owned tiles : List.copyOf(owned.values())) {
            steps++;
            final TreeSet<Tile> pending = tiles.pending.byFree;
            while (!pending.isEmpty() && tiles.stream.hasDone(pending.first().freedAt)) {
                final Tile tile = pending.first();
                remove(tile);
                tile.isDone = true;
                add(tile);
            }
        }
    }

    /** The host has synchronized: tiles whose frees have taken effect belong to no stream any more. */
    void settle() {
        notice();
        for (Owned tiles : List.copyOf(owned.values())) {
            for (Tile tile : List.copyOf(tiles.done.bySize)) {
                remove(tile);
                tile.freedOn = null;
                tile.isDone = false;
                add(tile);
            }
        }
    }

    /** Returns the tiles that are a whole segment and belong to no stream. */
    Collection<Tile> unused() {
        return List.copyOf(unused);
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
        Tile best = smallest(settled, byteSize);
        for (Owned tiles : owned.values()) {
            best = smaller(best, smallest(tiles.done, byteSize, isUsable));
            best = smaller(best, smallest(tiles.pending, byteSize, isUsable));
        }
        return best == null ? bestRun(byteSize, isUsable) : runOf(best, byteSize, isUsable);
    }

    /** Returns the leading tiles, of a size, of the run that a tile is in. */
    private List<Tile> runOf(Tile tile, long byteSize, Predicate<Tile> isUsable) {
        Tile first = tile;
        for (Tile before = tile.segment.before(tile);
                before != null && before.isFree && isUsable.test(before);
                before = before.segment.before(before)) {
            steps++;
            first = before;
        }
        final List<Tile> run = new ArrayList<>();
        long runSize = 0;
        for (Tile next = first; next != null && runSize < byteSize; next = next.segment.after(next)) {
            run.add(next);
            runSize += next.byteSize;
        }
        return run;
    }

    private static @Nullable Tile smaller(@Nullable Tile one, @Nullable Tile other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        return Tile.BY_SIZE.compare(one, other) <= 0 ? one : other;
    }

    private @Nullable Tile smallest(NavigableSet<Tile> bySize, long byteSize) {
        steps++;
        return bySize.isEmpty() ? null : bySize.ceiling(leastOf(bySize, byteSize));
    }

    private @Nullable Tile smallest(Sorted tiles, long byteSize, Predicate<Tile> isUsable) {
        steps++;
        if (tiles.byFree.isEmpty() || !isUsable.test(tiles.byFree.first())) {
            return null;
        }
        if (isUsable.test(tiles.byFree.last())) {
            return smallest(tiles.bySize, byteSize);
        }
        for (Tile tile : tiles.bySize.tailSet(leastOf(tiles.bySize, byteSize))) {
            steps++;
            if (isUsable.test(tile)) {
                return tile;
            }
        }
        return null;
    }

    /** Returns what is before all tiles of a size, as the order has it. */
    private static Tile leastOf(NavigableSet<Tile> bySize, long byteSize) {
        return new Tile(bySize.first().segment, 0, byteSize);
    }

    private List<Tile> bestRun(long byteSize, Predicate<Tile> isUsable) {
        List<Tile> best = List.of();
        long bestSize = Long.MAX_VALUE;
        Tile last = null;
        for (Tile first : seams.values()) {
            if (last != null && first.address < last.end()) {
                continue; // part of a run that was looked at
            }
            final List<Tile> run = new ArrayList<>();
            long runSize = 0;
            last = first;
            for (Tile tile = first; tile != null && tile.isFree && isUsable.test(tile); ) {
                steps++;
                if (runSize < byteSize) {
                    run.add(tile);
                }
                runSize += tile.byteSize;
                last = tile;
                tile = tile.segment.after(tile);
            }
            if (runSize >= byteSize && runSize < bestSize) {
                best = run;
                bestSize = runSize;
            }
        }
        return best;
    }
}
