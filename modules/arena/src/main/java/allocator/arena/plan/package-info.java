/**
 * Allocators that follow plans, over any allocator: which block each call gets, and whether its bytes may be used
 * again.
 *
 * <p>No parameter and no result is {@code null} unless annotated.
 */
package allocator.arena.plan;
