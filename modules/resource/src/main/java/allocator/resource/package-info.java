/**
 * Memory resources: sources of memory, and the decorators and adapters that combine them.
 *
 * <p>The conventions of {@link allocator.spi} apply: no {@code null} unless marked; sizes are in bytes; address
 * {@code 0} is the empty allocation; every type is thread-safe unless it says otherwise; every failure is an exception,
 * and all live allocations survive it.
 *
 * <ul>
 *   <li>A {@link allocator.resource.MemoryResource} allocates and deallocates; a
 *       {@link allocator.resource.StreamOrderedMemoryResource} does so in the order of a stream.
 *   <li>A {@link allocator.resource.ResourceDecorator} adds one concern to another resource, its upstream.
 *   <li>{@link allocator.resource.AllocatorResource} adapts an allocator of {@link allocator.spi} to a resource,
 *       {@link allocator.resource.ResourceAllocator} a resource to an allocator, and
 *       {@link allocator.resource.ResourceArena} a resource to a {@link java.lang.foreign.SegmentAllocator}.
 * </ul>
 *
 * <p>Limits are in {@link allocator.resource.budget}, logs in {@link allocator.resource.log}, blocks used by several
 * streams in {@link allocator.resource.tracked}, and typed arrays in {@link allocator.resource.typed}.
 */
package allocator.resource;
