package allocator.arena;

/** How large the next region of an arena is. */
public enum ExtendStrategy {
    /** The size doubles from region to region, and within one step until the request fits. */
    POWER_OF_TWO,
    /** Each region is exactly as large as the rounded request that needs it. */
    SAME_AS_REQUESTED
}
