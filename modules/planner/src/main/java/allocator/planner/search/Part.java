package allocator.planner.search;

/** Blocks that are planned by themselves, above units that other blocks take all the time. */
final class Part {
    /** The blocks, by the beginning of their lifetimes. */
    final int[] blocks;

    /** The units below the blocks. */
    final long base;

    Part(int[] blocks, long base) {
        this.blocks = blocks;
        this.base = base;
    }
}
