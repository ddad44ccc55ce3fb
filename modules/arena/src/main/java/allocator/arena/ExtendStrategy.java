package allocator.arena;

/** How an arena sizes its next region. */
public enum ExtendStrategy {
    /** The size doubles from region to region, and as often as needed for the request to fit. */
    POWER_OF_TWO,
    /** Each region has exactly the rounded size of the request that needs it. */
    SAME_AS_REQUESTED
}
