package allocator.bench.compare;

import java.util.List;

/**
 * The processors of a machine, shared out among lanes: each lane has as many, one after the other. A single lane has
 * all of them, and is bound to none.
 *
 * @param available how many there are
 * @param lanes the number of lanes, at least 1
 */
record Processors(int available, int lanes) {
    /**
     * Checks that each lane gets at least one.
     *
     * @throws IllegalArgumentException if there are more lanes than processors, or none
     */
    Processors {
        if (lanes < 1 || lanes > available) {
            throw new IllegalArgumentException("--lanes takes numbers from 1 to that of processors, " + available);
        }
    }

    /**
     * {@return the beginning of a command that runs on the processors of a lane; empty if it may run on all processors}
     *
     * @param lane the lane, from 0
     */
    List<String> of(int lane) {
        if (lanes == 1) {
            return List.of();
        }
        final int each = available / lanes;
        return List.of("taskset", "--cpu-list", lane * each + "-" + (lane * each + each - 1));
    }
}
