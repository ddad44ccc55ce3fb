/**
 * Memory resources: where memory comes from, what is added to that, and who owns it.
 *
 * <p>The conventions of {@link allocator.spi} hold here too: no {@code null} unless marked, sizes in bytes, address
 * {@code 0} is the empty allocation, every type is safe for use by several threads unless it says otherwise, and every
 * failure is an exception after which all that was live still is.
 *
 * <ul>
 *   <li>A {@link allocator.resource.MemoryResource} allocates and deallocates; a
 *       {@link allocator.resource.StreamOrderedMemoryResource} does so in the order of a stream.
 *   <li>A {@link allocator.resource.ResourceDecorator} adds one concern to another resource, its upstream.
 *   <li>{@link allocator.resource.AllocatorResource} and {@link allocator.resource.ResourceAllocator} lead from and to
 *       the allocators of {@link allocator.spi}, {@link allocator.resource.ResourceArena} to
 *       {@link java.lang.foreign.SegmentAllocator}.
 * </ul>
 */
package allocator.resource;
