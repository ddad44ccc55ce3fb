/**
 * Building blocks for providers. Begin at {@link allocator.provider.support.BlockLedger} for an allocator that takes
 * each block from its device, and at {@link allocator.provider.support.References} for a factory that shares
 * allocators.
 *
 * <p>No parameter accepts {@code null}, and no method returns it, unless marked.
 */
@NullMarked
package allocator.provider.support;

import org.jspecify.annotations.NullMarked;
