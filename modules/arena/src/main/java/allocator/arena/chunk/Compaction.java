package allocator.arena.chunk;

/**
 * Gives back Java heap: rebuilds the tables of a lane, about as large as what they hold.
 *
 * <p>All room is made first. Then the records move to smaller tables in a few stores, and {@link Repair} fills the
 * smaller indexes from them, for which it needs no further room. If the Java heap ends, nothing has changed.
 */
final class Compaction {
    /** Below which part of a table in use it is made smaller. */
    private static final int SPARSE = 4;

    /** Entries that a table always may have. */
    private static final int LEAST = 1024;

    private final BestFit placement;
    private final Chunks chunks;
    private final Regions regions;
    private final StreamSlots slots;

    private Compaction(BestFit placement) {
        this.placement = placement;
        chunks = placement.chunks;
        regions = placement.regions;
        slots = placement.slots;
    }

    /** Makes the tables of a placement smaller. */
    static void of(BestFit placement) {
        new Compaction(placement).run();
    }

    /** Returns whether so few entries of a table are in use that it should be made smaller. */
    static boolean isSparse(long used, long capacity) {
        return capacity > LEAST && used < capacity / SPARSE;
    }

    private void run() {
        regions.compact();
        placement.slabs.compact();
        if (chunks.isSparse() || placement.trees.isSparse() || placement.tables.isSparse() || slots.isSparse()) {
            makeAgain();
        }
    }

    private void makeAgain() {
        final StreamSlots.Smaller smallerSlots = slots.smaller();
        final Chunks smallerChunks = chunks.smaller();
        final int[] firsts = new int[regions.count()];
        final int[][] heads = new int[regions.count()][];
        for (int i = 0; i < regions.count(); i++) {
            final Region region = regions.at(i);
            firsts[i] = smallerChunks.count();
            long last = 0;
            for (int chunk = region.first; chunk != Chunks.NONE; chunk = chunks.next(chunk)) {
                smallerChunks.addCopy(chunks, chunk, smallerSlots.number(chunks.owner(chunk)));
                last = chunks.isSlab(chunk) ? chunks.offset(chunk) + Slabs.MAX_SLAB_GRANULES : chunks.offset(chunk);
            }
            heads[i] = region.headUpTo(last);
        }
        final SortedTrees trees = placement.trees.smaller();
        final WindowTables tables = placement.tables.smaller();
        final Repair repair = new Repair(placement, smallerChunks.count());
        final int before = placement.step;
        placement.step = BestFit.BEGUN;
        chunks.become(smallerChunks);
        for (int i = 0; i < firsts.length; i++) {
            regions.at(i).first = firsts[i];
            regions.at(i).setHead(heads[i]);
        }
        slots.become(smallerSlots);
        placement.trees.become(trees);
        placement.tables.become(tables);
        repair.run();
        for (int i = 0; i < regions.count(); i++) {
            regions.at(i).dropEmptyPages();
        }
        placement.step = before;
    }
}
