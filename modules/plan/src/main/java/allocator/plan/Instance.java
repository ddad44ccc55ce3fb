package allocator.plan;

import java.util.List;

/**
 * Blocks to be planned. Immutable; blocks are known by their index.
 *
 * @param lifetimes the blocks, at most {@link #MAX_BLOCKS}
 */
public record Instance(List<Lifetime> lifetimes) {
    /** The most blocks that an instance may have. */
    public static final int MAX_BLOCKS = 1 << 26;

    /**
     * Copies the list.
     *
     * @throws IllegalArgumentException if there are too many blocks
     */
    public Instance {
        if (lifetimes.size() > MAX_BLOCKS) {
            throw new IllegalArgumentException(lifetimes.size() + " blocks are more than " + MAX_BLOCKS);
        }
        lifetimes = List.copyOf(lifetimes);
    }

    /** {@return the number of blocks, from 0} */
    public int size() {
        return lifetimes.size();
    }

    /**
     * {@return the lifetime of a block}
     *
     * @param block its index, from 0
     */
    public Lifetime lifetime(int block) {
        return lifetimes.get(block);
    }
}
