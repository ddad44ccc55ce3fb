/**
 * The best-fit-with-coalescing arena over any upstream allocator.
 *
 * <p>The algorithm is that of ONNX Runtime's arena, which goes back to TensorFlow's and to Doug Lea's malloc. A
 * <em>region</em> is one allocation of the upstream allocator. A <em>chunk</em> is a part of a region, free or in use.
 * Every chunk belongs to one region, and the chunks of a region cover it without gaps. A <em>reserve</em> is an
 * allocation of the upstream allocator outside the regions. A <em>lane</em> is a set of regions behind one lock.
 *
 * <p>{@link allocator.arena.BfcArena} is the arena; {@link allocator.arena.ArenaAllocator} and
 * {@link allocator.arena.StreamArenaAllocator} present it as an allocator of the contract.
 *
 * <p>The null policy and the conventions of {@code allocator.spi} apply.
 */
package allocator.arena;
