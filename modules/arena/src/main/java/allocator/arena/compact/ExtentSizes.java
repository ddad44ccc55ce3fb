package allocator.arena.compact;

/**
 * How large extents are made. Larger ones take fewer calls of the device; smaller ones are more often idle as a whole,
 * so that they can be moved.
 *
 * @param largestPart a new extent has at most this part of the most memory that has been in use
 * @param largestAnyway the pages that a new extent may have in any case
 * @param leastSlack the least slack in pages: what a small arena may hold beyond what has been in use
 */
record ExtentSizes(int largestPart, int largestAnyway, int leastSlack) {
    /**
     * Chosen by replays of the traces of real models ({@code CompactReplay}): the largest extents with which four of
     * six hold no more than 4.5 % above what lives.
     */
    static final ExtentSizes DEFAULT = new ExtentSizes(48, 5, 4);
}
