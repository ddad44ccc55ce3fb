package allocator.arena.compact;

/**
 * How much is held, and in extents of which sizes. Larger ones take fewer calls of the device; smaller ones are more
 * often idle as a whole, so that they can be moved.
 *
 * @param slack the part by which extents may exceed what has been in use at once, before idle ones are moved
 * @param leastSlack the least slack in pages: what a small arena may hold beyond what has been in use
 * @param largestPart a new extent has at most this part of the most memory that has been in use
 * @param largestAnyway the pages that a new extent may have in any case
 * @param allocationsPerMove how many allocations allow one move; 0 for any number of moves
 */
public record ExtentSizes(double slack, int leastSlack, int largestPart, int largestAnyway, int allocationsPerMove) {}
