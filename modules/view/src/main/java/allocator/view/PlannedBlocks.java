package allocator.view;

import allocator.plan.Instance;
import allocator.plan.Plan;
import java.util.List;

/**
 * Blocks and their places in memory, to be shown.
 *
 * @param subtitle what the page says below its title
 * @param ids the names of the blocks, in the order of the instance
 * @param instance the blocks
 * @param plan the offsets of the blocks
 * @param capacity the bytes that were to suffice; 0 if the least were wanted
 */
public record PlannedBlocks(String subtitle, List<String> ids, Instance instance, Plan plan, long capacity) {
    /**
     * Copies the list.
     *
     * @throws IllegalArgumentException if there are not as many ids as blocks, or {@code capacity} is negative
     */
    public PlannedBlocks {
        ids = List.copyOf(ids);
        if (ids.size() != instance.size()) {
            throw new IllegalArgumentException(ids.size() + " ids for " + instance.size() + " blocks");
        }
        if (capacity < 0) {
            throw new IllegalArgumentException("capacity " + capacity + " is negative");
        }
    }
}
