/**
 * Memory blocks used by several streams.
 *
 * <p>{@link allocator.resource.tracked.TrackedMemory} records which stream reads or writes a
 * {@link allocator.resource.tracked.TrackedBlock}, makes a stream wait for the uses it must follow, and defers a free
 * until the last use is complete. It needs the events of a device, {@link allocator.resource.tracked.StreamEvents};
 * {@link allocator.resource.tracked.StreamPool} bounds the number of streams.
 */
package allocator.resource.tracked;
