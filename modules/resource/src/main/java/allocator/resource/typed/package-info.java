/**
 * Arrays of one {@link java.lang.foreign.ValueLayout} on any resource, sized by their number of elements.
 *
 * <p>{@link allocator.resource.typed.PolymorphicAllocator} and {@link allocator.resource.typed.StreamOrderedAllocator}
 * allocate and deallocate arrays; a {@link allocator.resource.typed.TypedBuffer} owns one and can change its size.
 */
package allocator.resource.typed;
