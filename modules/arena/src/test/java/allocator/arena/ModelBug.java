package allocator.arena;

/** An error to plant in {@link ModelArena}: one rule that it breaks. */
enum ModelBug {
    /** Among chunks of equal size the last is taken. */
    TAKES_THE_HIGHEST_ADDRESS,
    /** A chunk of exactly twice the request is not split. */
    SPLITS_TOO_LATE,
    /** A chunk with exactly the dead bytes allowed is not split. */
    WASTES_ONE_GRANULE_MORE,
    /** A freed chunk is merged with the next one only. */
    FORGETS_THE_PREVIOUS_NEIGHBOUR,
    /** Doubling starts at the request, not at the last size. */
    GROWS_TO_THE_REQUEST,
    /** The size after an oversized request is not used for the next region. */
    DOUBLES_AT_ONCE,
    /** Growth continues after a shrink. */
    SHRINK_KEEPS_GROWTH,
    /** A shrink returns the first region too. */
    SHRINK_RETURNS_THE_FIRST_REGION,
    /** Reserves are not counted against the limit. */
    LIMIT_IGNORES_RESERVES,
    /** The first attempt at the device is the only one. */
    NEVER_BACKS_OFF,
    /** The stamp is that of the allocation, not of the free. */
    STAMPS_WHEN_TAKING,
    /** An event that was recorded before the free is enough. */
    TRUSTS_AN_EARLIER_EVENT,
    /** Neighbours are merged for equal owners only. */
    SEPARATES_UNBOUND_NEIGHBOURS,
    /** Untouched heads and tails are not used. */
    LOSES_UNTOUCHED_ENDS,
    /** The larger stamp of two chunks does not win. */
    TAKES_THE_LOWER_STAMP,
    /** The end of a run unbinds what is in use as well. */
    RUN_END_UNBINDS_WHAT_IS_IN_USE,
    /** A release does not unbind what is in use. */
    RELEASE_FORGETS_WHAT_IS_IN_USE,
    /** A failed allocation is not counted. */
    FORGETS_FAILURES
}
