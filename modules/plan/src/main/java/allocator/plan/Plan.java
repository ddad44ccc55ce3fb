package allocator.plan;

import java.util.Arrays;
import java.util.List;

/**
 * Offsets for the blocks of an instance: blocks whose lifetimes overlap do not overlap in memory. Immutable.
 *
 * <p>The least height that any plan of the instance may have is at least {@link #lowerBound}, which is proved.
 */
public final class Plan {
    private final long[] offsets;
    private final long height;
    private final long lowerBound;
    private final long steps;

    /**
     * Creates a plan.
     *
     * @param offsets bytes, by index in the instance
     * @param height the bytes that the plan needs
     * @param lowerBound bytes below which no plan exists
     * @param steps the work of the search
     */
    public Plan(long[] offsets, long height, long lowerBound, long steps) {
        this.offsets = offsets.clone();
        this.height = height;
        this.lowerBound = lowerBound;
        this.steps = steps;
    }

    /**
     * Returns the plan of groups of blocks that share no memory: each group lies above the one before it.
     *
     * @param instance the blocks of all groups
     * @param groups for each group the indices of its blocks; each block is in one group
     * @param plans the plan of each group's blocks alone, in the order of the group's indices
     * @return a plan of all blocks, whose lower bound is that for groups that share no memory
     * @throws IllegalArgumentException if numbers of groups, blocks and offsets differ, a block is in two groups, or
     *     the plan needs more than 2<sup>63</sup>-1 bytes
     */
    public static Plan stacked(Instance instance, List<List<Integer>> groups, List<Plan> plans) {
        if (groups.size() != plans.size()) {
            throw new IllegalArgumentException(plans.size() + " plans for " + groups.size() + " groups");
        }
        final long[] offsets = new long[instance.size()];
        long base = 0;
        long lowerBound = 0;
        long steps = 0;
        final boolean[] isPlaced = new boolean[offsets.length];
        int placed = 0;
        for (int g = 0; g < plans.size(); g++) {
            final Plan plan = plans.get(g);
            if (plan.offsets.length != groups.get(g).size()) {
                throw new IllegalArgumentException(
                        "group " + g + " has " + groups.get(g).size() + " blocks, its plan " + plan.offsets.length);
            }
            final long alignment = groups.get(g).stream()
                    .mapToLong(block -> instance.lifetime(block).byteAlignment())
                    .max()
                    .orElse(1);
            if (base > Long.MAX_VALUE - alignment - plan.height) {
                throw new IllegalArgumentException("the plan needs more than " + Long.MAX_VALUE + " bytes");
            }
            base = Math.ceilDiv(base, alignment) * alignment;
            for (int i = 0; i < plan.offsets.length; i++) {
                final int block = groups.get(g).get(i);
                if (isPlaced[block]) {
                    throw new IllegalArgumentException("block " + block + " is in a group twice");
                }
                isPlaced[block] = true;
                offsets[block] = base + plan.offsets[i];
            }
            base += plan.height;
            lowerBound += plan.lowerBound;
            steps += plan.steps;
            placed += plan.offsets.length;
        }
        if (placed != offsets.length) {
            throw new IllegalArgumentException(placed + " blocks in groups, " + offsets.length + " in the instance");
        }
        return new Plan(offsets, base, lowerBound, steps);
    }

    /**
     * {@return the offset of a block in bytes, from 0: a multiple of the block's alignment}
     *
     * @param block its index in the instance
     */
    public long offset(int block) {
        return offsets[block];
    }

    /** {@return all offsets in bytes, by index in the instance, in a new array} */
    public long[] offsets() {
        return offsets.clone();
    }

    /** {@return the plan's bytes: the largest end of a block, rounded up to the shared alignment; 0 without blocks} */
    public long height() {
        return height;
    }

    /** {@return the bytes below which no plan exists, 0 to {@link #height}, rounded up to the shared alignment} */
    public long lowerBound() {
        return lowerBound;
    }

    /**
     * {@return how far the height may be from the least possible: the height over the lower bound, less 1; 0 if the
     * height is proved to be the least}
     */
    public double gap() {
        return isOptimal() ? 0 : (double) height / lowerBound - 1;
    }

    /** {@return whether it is proved that no plan needs less} */
    public boolean isOptimal() {
        return height == lowerBound;
    }

    /**
     * {@return whether the plan fits into a capacity: its height does not exceed it}
     *
     * @param capacity bytes
     */
    public boolean fits(long capacity) {
        return height <= capacity;
    }

    /**
     * {@return how many bytes a capacity lacks for every plan: those from it to the lower bound; 0 if a plan may fit}
     *
     * @param capacity bytes
     */
    public long shortfall(long capacity) {
        return Math.max(0, lowerBound - capacity);
    }

    /** {@return the steps of the search: how often a block was placed or raised; 0 if the first pass was enough} */
    public long steps() {
        return steps;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Plan plan
                && height == plan.height
                && lowerBound == plan.lowerBound
                && steps == plan.steps
                && Arrays.equals(offsets, plan.offsets);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(height) + 31 * Arrays.hashCode(offsets);
    }

    @Override
    public String toString() {
        return offsets.length + " blocks in " + height + " bytes, at least " + lowerBound;
    }
}
