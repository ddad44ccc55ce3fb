/**
 * Chunks and where they lie: the regions of one lane, which chunk serves a request, and how chunks split and merge.
 *
 * <p>A leaf: pure bookkeeping on addresses that knows neither locks nor limits nor the upstream allocator, and depends
 * on no other package of the module. {@link allocator.arena.chunk.BestFit} is the entry; its subclasses are the other
 * placement policies. Nothing here is safe for use by several threads: the lane's lock guards it.
 *
 * <p>Not exported.
 */
package allocator.arena.chunk;
