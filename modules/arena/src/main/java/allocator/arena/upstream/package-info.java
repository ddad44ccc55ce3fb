/**
 * What an arena holds of the upstream allocator: sizes of its allocations, the limit, the counters, and memory that
 * could not be returned; and the lock that guards them.
 *
 * <p>A leaf: depends on no other package of the module. Not exported.
 */
package allocator.arena.upstream;
