package allocator.arena.plan;

/**
 * The allocations of a plan in the order of their calls.
 *
 * @param name the plan's name, for messages
 * @param byteSizes the size of each call: above zero, a multiple of the granule
 * @param offsets where each call's block begins, a multiple of the granule
 */
@SuppressWarnings("ArrayRecordComponent") // records are not compared
record PlannedCalls(String name, long[] byteSizes, long[] offsets) {}
