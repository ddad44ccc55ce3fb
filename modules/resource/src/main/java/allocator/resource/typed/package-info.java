/**
 * Arrays of one {@link java.lang.foreign.ValueLayout} on any resource, sized by their number of elements.
 *
 * <p>A {@link allocator.resource.typed.PolymorphicAllocator} allocates and deallocates arrays, in the order of a stream
 * if it is bound to one; a {@link allocator.resource.typed.TypedBuffer} owns one and can change its size.
 */
package allocator.resource.typed;
