/**
 * The best-fit-with-coalescing arena over any upstream allocator.
 *
 * <p>The policy is that of ONNX Runtime's arena, which has it from TensorFlow, which has it from Doug Lea's malloc. A
 * <em>region</em> is one allocation of the upstream allocator; a <em>chunk</em> is a piece of a region, free or in use;
 * every chunk belongs to exactly one region and the chunks of a region cover it without gaps.
 *
 * <p>The null policy and the conventions of {@code allocator.spi} hold here as well.
 */
package allocator.arena;
