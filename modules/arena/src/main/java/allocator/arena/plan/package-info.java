/**
 * Memory that follows a plan: which block each call gets, and whether its bytes may be used again. Knows nothing of
 * locks, limits or the upstream allocator.
 *
 * <p>No parameter and no result is {@code null} unless annotated.
 */
package allocator.arena.plan;
