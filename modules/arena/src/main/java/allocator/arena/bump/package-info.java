/**
 * Bump arenas over any upstream allocator, for memory that is freed together.
 *
 * <p>{@link allocator.arena.bump.BumpArena} and {@link allocator.arena.bump.SharedBumpArena} free all blocks at once,
 * for one thread and for several. {@link allocator.arena.bump.BumpAllocator} implements the contract of
 * {@code allocator.spi}: blocks are freed one by one, and streams order memory. All three bump a pointer through a
 * chain of <em>regions</em>, each of which is one allocation of the upstream allocator.
 *
 * <p>The null policy and the conventions of {@code allocator.spi} apply.
 */
package allocator.arena.bump;
